"""This process as a member of a cluster: joined once, before TensorFlow's runtime starts.

TensorFlow fixes a process's place in a cluster when its runtime starts, and cannot leave again: a
change of the cluster takes fresh processes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import tensorflow as tf

from strategy_core.cluster.local_rank import local_rank_of
from strategy_core.cluster.network.ports import REUSE_PORT
from strategy_core.cluster.tasks import Cluster
from strategy_core.planning.gpu_allocation import Seat
from strategy_core.private_tf import engine as private_tf
from strategy_lab.profiles.spec.run_spec import RunSpec

REPORT_LOST_PEERS = {"GRPC_FAIL_FAST": "use_caller"}
"""Environment of every process of a cluster with a coordinator: a call to one that is gone fails,
where it would wait for its return."""


@dataclass(frozen=True)
class Membership:
    """Which of the run's processes this one is."""

    cluster: Cluster
    process: int
    has_own_launcher: bool = False
    """Its peers have others, so its port is not reserved."""

    @property
    def is_leader(self) -> bool:
        """Whether this process writes what is to be written once."""
        return self.process == 0

    @property
    def local_rank(self) -> Seat:
        """Where this process is among the workers on its machine."""
        return local_rank_of(self.cluster, self.process, self.has_own_launcher, os.environ)

    def join(self, spec: RunSpec) -> None:
        """Tell TensorFlow of the cluster; nothing may have started its runtime yet."""
        if not self.has_own_launcher:
            os.environ |= REUSE_PORT
        if self.cluster.has_coordinator:
            os.environ |= REPORT_LOST_PEERS
        os.environ["TF_CONFIG"] = self.cluster.tf_config(self.process)
        if not self.cluster.has_coordinator:
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            private_tf.watch_peers(resolver, spec.cluster.heartbeat_timeout_s)
