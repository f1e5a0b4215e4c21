"""An emulated pod: several worker processes on this machine, each a TPU host with its cores.

    with tpu.Pod(num_hosts=2, cores_per_host=4) as pod:
        resolver = tpu.TPUClusterResolver(pod=pod)
        tpu.connect_to_cluster(resolver)

One program drives all hosts over gRPC, as with real pods; input pipelines run on the hosts. A host
ends with the program that started it, however that ends.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess

import tensorflow as tf

from strategy_core.processes.import_path import module_command, with_own_code
from strategy_tpu import private_tf
from strategy_tpu.mesh import TPUSetupError

_JOB = "worker"
_STOP_TIMEOUT_S = 5.0


class ServedPod:
    """A pod with host processes that were started separately.

    Args:
      cluster: all processes of the cluster; the hosts are the tasks of `job`.
      cores_per_host: virtual CPU devices of each host.
      own_job: this program's job, if it is a task of the cluster.
    """

    def __init__(
        self, cluster: tf.train.ClusterSpec, job: str, cores_per_host: int, own_job: str = ""
    ) -> None:
        self.job = job
        self.addresses: list[str] = cluster.job_tasks(job)
        self.num_hosts = len(self.addresses)
        self.cores_per_host = cores_per_host
        self._cluster = cluster
        self._own_job = own_job or "localhost"

    @property
    def master(self) -> str:
        """Address of the first host in TensorFlow's format."""
        return f"grpc://{self.addresses[0]}"

    def cluster_spec(self) -> tf.train.ClusterSpec:
        return self._cluster

    def core_devices(self) -> list[str]:
        """Full device name of every core, by host and then ordinal."""
        return [
            f"/job:{self.job}/replica:0/task:{task}/device:CPU:{core}"
            for task in range(self.num_hosts)
            for core in range(self.cores_per_host)
        ]

    def connect(self) -> None:
        """Make the hosts' devices available to this program."""
        tf.config.experimental_connect_to_cluster(self.cluster_spec(), job_name=self._own_job)


class Pod(ServedPod):
    """A pod that starts `num_hosts` worker processes with `cores_per_host` virtual CPU devices
    each."""

    def __init__(self, num_hosts: int, cores_per_host: int) -> None:
        if num_hosts < 1 or cores_per_host < 1:
            raise TPUSetupError(
                f"{num_hosts} hosts with {cores_per_host} cores make no pod",
                advice="Give at least one of each",
                field="workers",
            )
        addresses = _free_addresses(num_hosts)
        super().__init__(tf.train.ClusterSpec({_JOB: addresses}), _JOB, cores_per_host)
        self._is_connected = False
        self._hosts = [self._start(task) for task in range(num_hosts)]
        for host in self._hosts:
            self._wait_until_ready(host)

    def connect(self) -> None:
        super().connect()
        self._is_connected = True

    def close(self) -> None:
        """End the hosts once their work is done.

        Their devices are then unavailable to this program.
        """
        if self._is_connected:
            private_tf.async_wait()
            self._is_connected = False
        for host in self._hosts:
            if host.stdin is not None:
                host.stdin.close()
        for host in self._hosts:
            try:
                host.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                host.kill()
                host.wait()
            if host.stdout is not None:
                host.stdout.close()

    def __enter__(self) -> Pod:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, task: int) -> subprocess.Popen[str]:
        request = {
            "job": self.job,
            "addresses": self.addresses,
            "task": task,
            "cores": self.cores_per_host,
        }
        return subprocess.Popen(
            [*module_command("strategy_tpu.pod_host"), json.dumps(request)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=with_own_code(os.environ),
            text=True,
        )

    def _wait_until_ready(self, host: subprocess.Popen[str]) -> None:
        if host.stdout is None or host.stdout.readline().strip() != "ready":
            self.close()
            raise TPUSetupError(
                f"A host of the pod ended with exit code {host.poll()} before it was ready",
                field="workers",
            )


def _free_addresses(count: int) -> list[str]:
    """Addresses on this machine with ports that were free a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    finally:
        for each in sockets:
            each.close()
