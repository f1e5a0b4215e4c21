"""Replaces XLA's TPU bridge: runs a traced TPU cluster on the emulated cores.

TensorFlow's own code traces the user's function once, through the genuine `tpu.replicate`, into a
scratch graph. `expansion` re-emits that graph for every replica into the caller's graph.

Things that don't work:

- DTensor has no spatially split convolution on CPUs (halo exchange is for TPUs only), no second
  mesh axis for one tensor axis, and neither replica ids nor `Relayout` inside a strategy's `run`.
- XLA on CPUs keeps sharding annotations but runs one unpartitioned program on one device.
- A separate strategy class would have to repeat TensorFlow's validation, errors, variables and
  input handling, and Keras requires the stock class.

Solution: the stock `TPUStrategy` and `TPUExtended` stay the front end. Only their hook
`_tpu_function_creator` is replaced (see `extended`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from strategy_tpu import private_tf
from strategy_tpu.expansion import Expansion

nest = private_tf.nest


def replicated(strategy: Any, fn: Callable[..., Any], options: Any) -> Callable[..., Any]:
    """A function of (args, kwargs), which may hold per-replica values, that runs `fn` on all
    replicas."""

    @tf.autograph.experimental.do_not_convert
    def tpu_function(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        inputs = _inputs_by_replica(strategy, args, kwargs or {}, options)
        # On a TPU, jit_compile around strategy.run has no effect: the replicas are always compiled.
        private_tf.do_not_compile_callers()
        outer = tf.compat.v1.get_default_graph()
        cluster, structure, outputs = _trace(strategy, fn, inputs, options)
        flat = [t for t in nest.flatten(outputs, expand_composites=True) if tf.is_tensor(t)]
        strategy.extended.xla.look_at(cluster, outer, flat, strategy.extended.compile_device())
        expansion = Expansion(cluster, outer, strategy.extended)
        emitted = dict(zip(map(id, flat), expansion.run(flat), strict=True))
        strategy.extended.last_expansion = expansion.report
        outputs = nest.map_structure(
            lambda t: emitted.get(id(t), t), outputs, expand_composites=True
        )
        return private_tf.distribute_utils.regroup(_restored(structure, outputs))

    return tpu_function


def run_steps(strategy: Any, fn: Callable[..., Any], iterator: Any, iterations: int) -> Any:
    """Run `iterations` steps of `fn(context, inputs)` in one call.

    Returns the context with its last outputs. `fn` is called in cross-replica context, as
    documented, and may use `call_for_each_replica`. The context's `run_op`, which a TF 1 session
    would run, has already been run and is None.
    """
    context = private_tf.MultiStepContext()

    def replica_step(inputs: Any) -> dict[str, Any]:
        replica_context = tf.distribute.get_replica_context()
        replica_context.merge_call(lambda _, given: fn(context, given), args=(inputs,))
        return dict(context.last_step_outputs)

    @tf.function(autograph=False)
    def steps() -> Any:
        def once() -> Any:
            return strategy.run(replica_step, args=(next(iterator),))

        first = once()
        if iterations == 1 or not first:
            for _ in range(iterations - 1):
                once()
            return first
        _, last = tf.while_loop(
            lambda i, _: i < iterations,
            lambda i, _: (i + 1, once()),
            (tf.constant(1), first),
        )
        return last

    reduced = private_tf.reductions_of_outputs(context)
    outputs = {
        name: value if reduced[name] is None else strategy.experimental_local_results(value)[0]
        for name, value in steps().items()
    }
    private_tf.set_last_outputs(context, outputs)
    context.run_op = None
    return context


def _inputs_by_replica(
    strategy: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Any
) -> list[list[Any]]:
    select = private_tf.distribute_utils.select_replica
    inputs = []
    for replica, device in enumerate(strategy.extended.core_devices[:, 0]):
        with tf.device(device):
            replica_id = tf.constant(replica, tf.int32)
        inputs.append([replica_id, select(replica, args), select(replica, kwargs)])
    for value in nest.flatten(inputs, expand_composites=True):
        if tf.is_tensor(value) and value.shape.rank is None and value.dtype != tf.variant:
            raise ValueError(  # TensorFlow's own message
                f"input tensor {value} to TPUStrategy.run() has unknown rank, which is not allowed"
            )
    if not options.experimental_enable_dynamic_batch_size:
        for value in nest.flatten(inputs):
            if tf.is_tensor(value) and not value.shape.is_fully_defined():
                raise ValueError(
                    "With RunOptions(experimental_enable_dynamic_batch_size=False) only inputs "
                    f"of static shape are allowed, not {value}."
                )
    return _one_static_shape(inputs)


def _one_static_shape(inputs: list[list[Any]]) -> list[list[Any]]:
    """Inputs with equal static shapes on all replicas, where those of a last batch may differ.

    `TPUReplicatedInput` merges the static shapes of its inputs and refuses different ones.
    """
    flat = [nest.flatten(each, expand_composites=True) for each in inputs]
    for column, values in enumerate(zip(*flat, strict=True)):
        if not all(tf.is_tensor(value) for value in values):
            continue
        shape = values[0].shape
        for value in values[1:]:
            shape = shape.most_specific_compatible_shape(value.shape)
        for row, value in zip(flat, values, strict=True):
            if value.shape.rank is not None and value.shape != shape:
                row[column] = tf.compat.v1.placeholder_with_default(value, shape)
    return [
        nest.pack_sequence_as(each, row, expand_composites=True)
        for each, row in zip(inputs, flat, strict=True)
    ]


def _trace(
    strategy: Any, fn: Callable[..., Any], inputs: list[list[Any]], options: Any
) -> tuple[Any, Any, list[Any]]:
    """The cluster's graph, the result of `fn` while it was traced, and its outputs by replica."""
    result: list[Any] = [None]
    extended = strategy.extended

    def replicated_fn(replica_id: Any, replica_args: Any, replica_kwargs: Any) -> Any:
        extended.traced_replica_id = replica_id
        with private_tf.TPUReplicaContext(strategy, replica_id_in_sync_group=replica_id):
            result[0] = fn(*replica_args, **replica_kwargs)
        return result[0]

    cluster = private_tf.cluster_graph("tpu_cluster")
    xla_options = options.experimental_xla_options or private_tf.XLAOptions(
        use_spmd_for_xla_partitioning=extended.is_spmd
    )
    try:
        with cluster.as_default(), strategy.scope():
            outputs = private_tf.replicate(
                replicated_fn,
                inputs,
                device_assignment=extended.device_assignment,
                xla_options=xla_options,
            )
    finally:
        extended.traced_replica_id = 0
    return cluster, result[0], outputs


def _restored(structure: Any, outputs: list[Any]) -> list[Any]:
    """Outputs by replica in the structure that the user's function returned."""
    if structure is None or isinstance(structure, tf.Operation):
        return [None] * len(outputs)
    if isinstance(structure, list):
        structure = [each for each in structure if not isinstance(each, tf.Operation)]
    return [
        nest.pack_sequence_as(
            structure, [t for t in nest.flatten(output) if not isinstance(t, tf.Operation)]
        )
        for output in outputs
    ]
