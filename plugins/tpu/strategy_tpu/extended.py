"""The back end of the emulated TPUStrategy: stock `TPUExtended` on emulating devices."""

from __future__ import annotations

import atexit
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from strategy_core.private_tf.frame_names import is_tpu_embedding
from strategy_tpu import bridge, private_tf
from strategy_tpu.assignment import PlacedAssignment, host_of
from strategy_tpu.report import ExpansionReport
from strategy_tpu.resolver import TPUClusterResolver
from strategy_tpu.system_state import State, state_of
from strategy_tpu.warn import warn
from strategy_tpu.xla.telling import XlaChecker


class EmulatedTPUExtended(private_tf.TPUExtended):
    """TPUExtended whose cores are logical devices and whose compiler is `bridge`."""

    def __init__(
        self,
        container: Any,
        resolver: TPUClusterResolver,
        assignment: Any,
        spmd: bool,
        xla: XlaChecker,
    ) -> None:
        devices = resolver.core_devices()
        placed = None if assignment is None else PlacedAssignment(assignment, devices)
        with resolver.emulating():
            super().__init__(
                container,
                resolver,
                device_assignment=placed,
                use_spmd_for_xla_partitioning=spmd,
            )
        self._told_states: set[State] = set()
        self._tell_state("the first step of this strategy")
        atexit.unregister(private_tf.async_wait)  # see there; a pod waits before it closes
        if placed is None:
            self._tpu_devices = np.array([[device] for device in devices], dtype=object)
        else:
            self._tpu_devices = placed.core_devices()
        self._host_device = host_of(self._tpu_devices[0][0])
        self._device_input_worker_devices: OrderedDict[str, list[str]] = OrderedDict()
        self._host_input_worker_devices: OrderedDict[str, list[str]] = OrderedDict()
        for device in self._tpu_devices[:, 0]:
            host = host_of(device)
            self._device_input_worker_devices.setdefault(host, []).append(device)
            self._host_input_worker_devices.setdefault(host, []).append(host)
        self.xla = xla
        """Checks steps against a real TPU's compiler; `xla.last` is the result for the last
        trace."""
        self.last_expansion: ExpansionReport | None = None
        self.traced_replica_id: Any = 0
        """While a cluster is traced, the number of the replica, as a tensor."""

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """Device of each replica's current logical core."""
        _refuse_embeddings()
        return super().worker_devices

    @property
    def tpu_hardware_feature(self) -> Any:
        """Hardware features of the emulated TPU, which has no embedding hardware."""
        _refuse_embeddings()
        return super().tpu_hardware_feature

    @property
    def core_devices(self) -> npt.NDArray[np.object_]:
        """Device of each core, by replica and logical core."""
        return self._tpu_devices

    def _tell_state(self, what: str) -> None:
        """Warn if the TPU system is not initialized. Emulated cores run nevertheless."""
        state = state_of(self._tpu_cluster_resolver.system_name)
        if state is not State.READY and state not in self._told_states:
            self._told_states.add(state)
            warn(
                f"The TPU system {state.value}; on a TPU, {what} fails. Call "
                "initialize_tpu_system(resolver) before the strategy is created."
            )

    def compile_device(self) -> str:
        """The device of this process for which steps are compiled, to check whether they can be."""
        if self._tpu_cluster_resolver.pod is None:
            return str(self._tpu_devices[0][0])
        with tf.init_scope(), tf.device("/device:CPU:0"):
            return str(tf.constant(0).device)

    @property
    def device_assignment(self) -> Any:
        """The DeviceAssignment, or None if every core is a replica."""
        return self._device_assignment

    @property
    def is_spmd(self) -> bool:
        """Whether the strategy was created with `experimental_spmd_xla_partitioning`."""
        return bool(self._use_spmd_for_xla_partitioning)

    def _tpu_function_creator(self, fn: Callable[..., Any], options: Any) -> Callable[..., Any]:
        """The function that runs `fn` on every replica; TensorFlow's own hook for compiling with
        XLA."""
        self._tell_state("this step")
        eager = tf.executing_eagerly()
        if eager and fn in self._tpu_function_cache:
            return self._tpu_function_cache[fn]
        tpu_function = bridge.replicated(self._container_strategy(), fn, options)
        if eager:
            tpu_function = tf.function(tpu_function, autograph=False)
            self._tpu_function_cache[fn] = tpu_function
        return tpu_function

    def _call_for_each_replica(self, fn: Any, args: Any, kwargs: Any) -> Any:
        """Call `fn` with the replica's id inside a cluster, where one trace serves all replicas."""
        context = private_tf.TPUReplicaContext(
            self._container_strategy(), replica_id_in_sync_group=self.traced_replica_id
        )
        with context:
            return fn(*args, **kwargs)

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        """In a `merge_call`, the values of all replicas, which are a single tensor in the trace."""
        in_merge_call = (
            private_tf.enclosing_tpu_context() is not None
            and tf.distribute.in_cross_replica_context()
        )
        if not (in_merge_call and isinstance(value, tf.Tensor)):  # a variable is not a Tensor
            return super()._local_results(value)
        num_replicas = self._num_replicas_in_sync
        everywhere = private_tf.all_to_all(
            tf.stack([value] * num_replicas),
            concat_dimension=0,
            split_dimension=0,
            split_count=num_replicas,
        )
        return tuple(tf.unstack(everywhere, num_replicas))

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Replica 0's value on all replicas; the result of `_local_results` is that already."""
        if isinstance(tensor, tf.Tensor) and private_tf.enclosing_tpu_context() is not None:
            op = tensor.op
            if op.type == "Unpack" and op.inputs[0].op.type == "AllToAll":
                return tensor
        return super()._broadcast_to(tensor, destinations)

    def _experimental_run_steps_on_iterator(
        self, fn: Any, multi_worker_iterator: Any, iterations: int, initial_loop_values: Any = None
    ) -> Any:
        """Several steps in one call, as one tf.function: TF 2's meaning of this TF 1 method."""
        del initial_loop_values
        return bridge.run_steps(self._container_strategy(), fn, multi_worker_iterator, iterations)


def _refuse_embeddings() -> None:
    """Raise NotImplementedError if the caller is one of TensorFlow's TPUEmbedding classes.

    These properties are all they read before they access the embedding hardware, which would fail
    with "No registered 'IsTPUEmbeddingInitialized' OpKernel".
    """
    asking = sys._getframe(2).f_globals.get("__name__", "")
    if is_tpu_embedding(asking):
        raise NotImplementedError(
            "The emulated TPU has no embedding hardware, which TPUEmbedding needs. Use "
            "tf.keras.layers.Embedding (or a tf.Variable and tf.nn.embedding_lookup) in the "
            "strategy's scope; to serve trained tables, create TPUEmbedding or "
            "TPUEmbeddingForServing outside of the scope."
        )
