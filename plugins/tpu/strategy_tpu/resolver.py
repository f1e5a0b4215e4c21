"""TPUClusterResolver: TensorFlow's own on a machine with a TPU, emulated cores otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from strategy_tpu.cores import backing_devices, has_real_tpu, is_configured
from strategy_tpu.mesh import Mesh, TPUSetupError, default_shape, named_shape
from strategy_tpu.system_state import State, set_state, state_of
from strategy_tpu.warn import warn

STOCK_MODULE = tf.distribute.TPUStrategy.__module__
STOCK_SET_UP = ("initialize_tpu_system", "shutdown_tpu_system")
LOCAL_NAMES = (None, "", "local")
"""The arguments by which a program selects the TPU of this machine."""


class _Device(NamedTuple):
    name: str
    device_type: str


def _is_real(tpu: str | None) -> bool:
    """Whether to use TensorFlow's own resolver: a TPU is attached, or named."""
    return has_real_tpu() or tpu not in LOCAL_NAMES


class TPUClusterResolver(tf.distribute.cluster_resolver.TPUClusterResolver):
    """Resolves to emulated cores, unless a real TPU is attached or named.

    Keyword arguments beyond TensorFlow's own: `topology_shape`, the mesh (x, y, z, core) to
    emulate, or the name of a TPU with that mesh, such as `v3-8` (default: all logical devices, see
    `mesh.default_shape`); `device_kind`, `CPU` or `GPU`; `pod`, a running `strategy_core.tpu.Pod`
    of worker processes whose devices are the cores. Raises `TPUSetupError` (a ValueError) for a
    topology that the devices cannot fill.
    """

    def __new__(cls, tpu: str | None = "", *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("pod") is None and _is_real(tpu):
            for own in ("topology_shape", "device_kind", "pod"):
                kwargs.pop(own, None)
            stock = tf.distribute.cluster_resolver.TPUClusterResolver
            return stock(tpu, *args, **kwargs)  # not an instance of cls, so __init__ is skipped
        return super().__new__(cls)

    def __init__(
        self,
        tpu: str | None = "",
        *args: Any,
        topology_shape: str | Sequence[int] | None = None,
        device_kind: str | None = None,
        pod: Any = None,
        **kwargs: Any,
    ) -> None:
        del tpu, args, kwargs  # zone, project, credentials: nothing to look up
        super().__init__(tpu="local", job_name=pod.job if pod else "localhost")
        self.pod = pod
        self._device_kind = device_kind
        self._topology_shape = None if topology_shape is None else named_shape(topology_shape)
        self._emulating = False
        if self._topology_shape is not None:
            Mesh(self._topology_shape)  # refuses a bad shape before anything runs

    @staticmethod
    def connect(tpu: str | None = None, zone: str | None = None, project: str | None = None) -> Any:
        """Resolve, connect and initialize in one call, like TensorFlow's `connect`."""
        if _is_real(tpu):
            return tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu, zone, project)
        resolver = TPUClusterResolver(tpu, zone, project)
        resolver.initialize()
        return resolver

    def cluster_spec(self) -> tf.train.ClusterSpec:
        return self.pod.cluster_spec() if self.pod else tf.train.ClusterSpec({})

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        del task_type, task_id, rpc_layer
        return self.pod.master if self.pod else ""

    @property
    def mesh(self) -> Mesh:
        """The emulated mesh; its cores are the first logical devices, in order."""
        num_tasks = self.pod.num_hosts if self.pod else 1
        devices = self._all_devices()
        mesh = Mesh(self._topology_shape or default_shape(len(devices)), num_tasks)
        if mesh.num_cores > len(devices):
            raise TPUSetupError(
                f"A {mesh.shape} topology needs {mesh.num_cores} devices; TensorFlow has "
                f"{len(devices)} logical devices",
                advice=f"Call configure_virtual_cores({mesh.num_cores}) before TensorFlow starts",
                field="topology_shape",
            )
        return mesh

    def core_devices(self) -> list[str]:
        """Full device name of every core, by task and then ordinal."""
        return self._all_devices()[: self.mesh.num_cores]

    def _all_devices(self) -> list[str]:
        return self.pod.core_devices() if self.pod else backing_devices(self._device_kind)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: Any = None,
    ) -> dict[str, int]:
        del task_type, task_id, config_proto
        return {"TPU": self.mesh.cores_per_task}

    def get_tpu_system_metadata(self) -> tf.tpu.experimental.TPUSystemMetadata:
        """Metadata of the emulated TPU: hosts, cores, and a TPU device name per core."""
        self._refuse_the_stock_strategy()
        mesh, job = self.mesh, self.task_type
        return tf.tpu.experimental.TPUSystemMetadata(
            num_cores=mesh.num_cores,
            num_hosts=mesh.num_tasks,
            num_of_cores_per_host=mesh.cores_per_task,
            topology=None,
            devices=[
                _Device(f"/job:{job}/replica:0/task:{task}/device:TPU:{ordinal}", "TPU")
                for task in range(mesh.num_tasks)
                for ordinal in range(mesh.cores_per_task)
            ],
        )

    @property
    def system_name(self) -> str:
        """Name of the TPU system: `local`, or the address of the pod's first host."""
        return str(self.pod.master) if self.pod else "local"

    @property
    def _tpu(self) -> str:
        """TensorFlow's name of the attribute, which its own set-up functions read first."""
        self._refuse_the_stock_set_up()
        return self.system_name

    @_tpu.setter
    def _tpu(self, name: str) -> None:
        """TensorFlow's constructor sets it; the pod alone decides here."""

    @contextmanager
    def emulating(self) -> Iterator[None]:
        """Context in which an emulated strategy calls TensorFlow's constructor."""
        self._emulating = True
        try:
            yield
        finally:
            self._emulating = False

    def _refuse_the_stock_strategy(self) -> None:
        """Raise TPUSetupError if TensorFlow's own strategy is the caller.

        It would treat these cores as a TPU's and fail at its first step.
        """
        asking = sys._getframe(2).f_globals.get("__name__", "")
        if asking == STOCK_MODULE and not self._emulating:
            raise TPUSetupError(
                "tf.distribute.TPUStrategy cannot run on emulated TPU cores",
                advice="Create strategy_core.tpu.TPUStrategy(resolver) instead; on a real TPU that "
                "is tf.distribute.TPUStrategy",
            )

    def _refuse_the_stock_set_up(self) -> None:
        """Raise TPUSetupError if TensorFlow's own `initialize_tpu_system` is the caller, or its
        `shutdown_tpu_system`: their ops have no kernel on emulated cores.
        """
        frame = sys._getframe(2)
        called = frame.f_code.co_name.removesuffix("_impl")
        asking = frame.f_globals.get("__name__", "")
        if called in STOCK_SET_UP and asking.startswith("tensorflow."):
            raise TPUSetupError(
                f"tf.tpu.experimental.{called} cannot run on emulated TPU cores",
                advice=f"Call strategy_core.tpu.{called}(resolver) instead; on a real TPU that is "
                f"tf.tpu.experimental.{called}",
            )

    def initialize(self, *, again: bool = False) -> tf.tpu.experimental.Topology:
        """The emulated mesh's topology, stored as TensorFlow's resolver stores a TPU's.

        Warns if the TPU system is already initialized, unless `again` is set.
        """
        if state_of(self.system_name) is State.READY and not again:
            tf.get_logger().warning(  # TensorFlow's own message
                "TPU system %s has already been initialized. Reinitializing the TPU can cause "
                "previously created variables on TPU to be lost.",
                self.system_name,
            )
        self._tell_of_a_single_core()
        topology = self.topology()
        set_state(self.system_name, State.READY)
        self.set_tpu_topology(topology.serialized())
        return topology

    def _tell_of_a_single_core(self) -> None:
        if self._topology_shape is None and self.mesh.num_cores == 1 and not is_configured():
            warn(
                "The emulated TPU has 1 core, since TensorFlow has 1 logical device. Call "
                "configure_virtual_cores(8) before TensorFlow starts for the 8 of a v2-8 or v3-8."
            )

    def topology(self) -> tf.tpu.experimental.Topology:
        """The emulated mesh as TensorFlow's Topology."""
        mesh = self.mesh
        return tf.tpu.experimental.Topology(
            mesh_shape=np.array(mesh.shape, np.int32),
            device_coordinates=np.array(mesh.coordinates(), np.int32),
        )
