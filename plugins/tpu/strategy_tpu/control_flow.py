"""Function calls, loops and branches of a cluster.

A call is inlined. A loop or branch without communication is re-emitted unchanged, once per replica.
One that contains a collective becomes a single loop for all replicas, in lockstep. One that
contains partitioned values becomes a loop per replica whose state stays partitioned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from strategy_tpu import collectives, private_tf
from strategy_tpu.cloning import function_names
from strategy_tpu.graph_order import has_effect
from strategy_tpu.loop_state import LoopState

_BODIES = {
    "While": ("cond", "body"),
    "StatelessWhile": ("cond", "body"),
    "If": ("then_branch", "else_branch"),
    "StatelessIf": ("then_branch", "else_branch"),
    "Case": ("branches",),
    "StatelessCase": ("branches",),
}


def inline_call(expansion: Any, op: tf.Operation, graph: Any) -> bool:
    """Inline a tf.function that is called inside the cluster."""
    return inline_function(expansion, op, graph, op.get_attr("f").name)


def inline_function(expansion: Any, op: tf.Operation, graph: Any, name: str) -> bool:
    """Inline the function `name`, which `op` calls."""
    body = expansion.body(graph, name)
    bind(expansion, body, [expansion.values_of(tensor) for tensor in op.inputs], op.inputs)
    expansion.emit_body(body)
    for output, inner in zip(op.outputs, body.outputs, strict=True):
        expansion.set_value(output, expansion.values_of(inner))
        expansion.placement.pass_home(inner, output)
    inside = body.get_operations()
    waited = [each for each in inside if has_effect(each)] + inside[-1:]
    expansion.set_emitted(
        op,
        [
            [new for each in waited for new in expansion.emitted(each, replica)]
            for replica in range(expansion.num_replicas)
        ],
    )
    return True


def emit_while(expansion: Any, op: tf.Operation, graph: Any) -> bool:
    """Emit a loop that is shared by replicas, or by the cores of one replica."""
    together = _groups(expansion, op, graph)
    if together is None:
        return False
    cond, body = _bodies(expansion, op, graph)
    carried = [
        k
        for k, (before, after) in enumerate(zip(body.inputs, body.outputs, strict=True))
        if after is not before and before.dtype != tf.resource
    ]
    initial = [expansion.values_of(tensor) for tensor in op.inputs]
    results = [list(values) for values in initial]
    emitted: list[list[tf.Operation]] = [[] for _ in range(expansion.num_replicas)]
    for replicas in together:
        with _only(expansion, replicas):
            state = _loop_state(expansion, op, body, carried, initial)
            flat = _run_loop(expansion, op, cond, body, state, initial)
            for k, values in state.unpack(flat).items():
                results[k] = _updated(results[k], values, replicas)
            for replica in replicas:
                emitted[replica] = [flat[0].op] if flat else []
    _set_outputs(expansion, op, results, emitted)
    return True


def emit_branch(expansion: Any, op: tf.Operation, graph: Any) -> bool:
    """Emit a branch shared by replicas, or by the cores of one: the first replica decides."""
    together = _groups(expansion, op, graph)
    if together is None:
        return False
    bodies = _bodies(expansion, op, graph)
    arguments = [expansion.values_of(tensor) for tensor in op.inputs[1:]]
    results: list[list[Any]] = [[None] * expansion.num_replicas for _ in op.outputs]
    emitted: list[list[tf.Operation]] = [[] for _ in range(expansion.num_replicas)]
    for replicas in together:
        with _only(expansion, replicas):
            state = LoopState(expansion, replicas, range(len(op.outputs)))
            state.shapes = {k: output.shape for k, output in enumerate(op.outputs)}
            state.settle([_emission(expansion, body, arguments, op) for body in bodies])
            chosen = expansion.dense(op.inputs[0], replicas[0])
            flat = _choose(chosen, [_branch(expansion, b, arguments, op, state) for b in bodies])
            for k, values in state.unpack(flat).items():
                results[k] = _updated(results[k], values, replicas)
            for replica in replicas:
                emitted[replica] = [flat[0].op] if flat else []
    _set_outputs(expansion, op, results, emitted)
    return True


HANDLERS: dict[str, Callable[[Any, tf.Operation, Any], bool]] = {
    "PartitionedCall": inline_call,
    "StatefulPartitionedCall": inline_call,
    "While": emit_while,
    "StatelessWhile": emit_while,
    "If": emit_branch,
    "StatelessIf": emit_branch,
    "Case": emit_branch,
    "StatelessCase": emit_branch,
}
"""Handlers of `expansion`. If a handler returns False, the op is re-emitted unchanged."""


def bind(
    expansion: Any, body: Any, values: Sequence[list[Any]], outside: Sequence[tf.Tensor]
) -> None:
    """Assign values to a body's parameters, and the cores that the arguments are assigned to."""
    for parameter, by_replica, argument in zip(body.inputs, values, outside, strict=True):
        expansion.set_value(parameter, by_replica)
        expansion.placement.pass_home(argument, parameter)


def _loop_state(
    expansion: Any, op: tf.Operation, body: Any, carried: Sequence[int], initial: list[list[Any]]
) -> LoopState:
    state = LoopState(expansion, expansion.active, carried)
    state.shapes = {k: op.outputs[k].shape for k in carried}
    state.start_from(initial)
    if expansion.num_cores > 1:

        def once() -> list[list[Any]]:
            bind(expansion, body, state.placeholders(initial), op.inputs)
            expansion.emit_body(body)
            return [expansion.values_of(output) for output in body.outputs]

        state.settle([once])
    return state


def _run_loop(
    expansion: Any,
    op: tf.Operation,
    cond: Any,
    body: Any,
    state: LoopState,
    initial: list[list[Any]],
) -> list[tf.Tensor]:
    def values(flat: Sequence[tf.Tensor]) -> list[list[Any]]:
        """The value of each of the loop's variables on all cores, in a turn with these tensors."""
        now = state.unpack(list(flat))
        return [
            _updated(fixed, now[k], expansion.active) if k in now else fixed
            for k, fixed in enumerate(initial)
        ]

    def go_on(*flat: tf.Tensor) -> tf.Tensor:
        bind(expansion, cond, values(flat), op.inputs)
        expansion.emit_body(cond)
        return expansion.dense(cond.outputs[0], expansion.active[0])

    def step(*flat: tf.Tensor) -> list[tf.Tensor]:
        bind(expansion, body, values(flat), op.inputs)
        expansion.emit_body(body)
        return state.pack([expansion.values_of(output) for output in body.outputs])

    with expansion.recorder.loop(), expansion.after(op, expansion.active):
        looped = tf.while_loop(
            tf.autograph.experimental.do_not_convert(go_on),
            tf.autograph.experimental.do_not_convert(step),
            state.pack(initial),
            shape_invariants=state.invariants(),
            parallel_iterations=op.get_attr("parallel_iterations"),
        )
    return list(looped)


def _emission(
    expansion: Any, body: Any, arguments: list[list[Any]], op: tf.Operation
) -> Callable[[], list[list[Any]]]:
    """Return a function that emits a branch and returns its outputs by replica.

    `settle` calls it repeatedly in scratch graphs. Input 0 of the op is the predicate.
    """

    def once() -> list[list[Any]]:
        bind(expansion, body, arguments, op.inputs[1:])
        expansion.emit_body(body)
        return [expansion.values_of(output) for output in body.outputs]

    return once


def _branch(
    expansion: Any, body: Any, arguments: list[list[Any]], op: tf.Operation, state: LoopState
) -> Callable[[], list[tf.Tensor]]:
    emit = _emission(expansion, body, arguments, op)
    return tf.autograph.experimental.do_not_convert(lambda: state.pack(emit()))


def _choose(chosen: tf.Tensor, branches: list[Callable[[], list[tf.Tensor]]]) -> list[tf.Tensor]:
    if chosen.dtype == tf.bool:
        result = tf.cond(chosen, *branches)
    else:
        result = tf.switch_case(chosen, branches)
    return list(result) if isinstance(result, list | tuple) else [result]


def _bodies(expansion: Any, op: tf.Operation, graph: Any) -> list[Any]:
    names = []
    for key in _BODIES[op.type]:
        value = op.get_attr(key)
        names += [each.name for each in (value if isinstance(value, list) else [value])]
    return [expansion.body(graph, name) for name in names]


def _groups(expansion: Any, op: tf.Operation, graph: Any) -> list[list[int]] | None:
    """The groups of replicas that share the loop; None if each replica can have its copy of the
    op."""
    bodies = _bodies(expansion, op, graph)
    traits = [_traits(expansion, body, set()) for body in bodies]
    if any("collective" in each for each in traits):
        return [list(expansion.active)]
    if any(traits) or expansion.has_partitioned(op.inputs):
        return [[replica] for replica in expansion.active]
    return None


def _traits(expansion: Any, body: Any, seen: set[int]) -> set[str]:
    """Properties of a body, or of functions that it calls, that prevent re-emitting it
    unchanged."""
    if id(body) in seen:
        return set()
    seen.add(id(body))
    traits = set()
    for op in body.get_operations():
        if op.type in collectives.HANDLERS:
            traits.add("collective")
        elif op.type == "XlaSharding" or "TPU_REPLICATED_CORE" in op.device:
            traits.add("placement")
        attrs = op.node_def.attr
        if "seed2" in attrs and (attrs["seed"].i or attrs["seed2"].i):
            traits.add("random")  # each replica draws its own numbers
        for name in function_names(attrs):
            function = private_tf.find_function(name, (body, expansion.cluster, expansion.outer))
            if function is not None:
                traits |= _traits(expansion, expansion.body(body, name), seen)
    return traits


@contextmanager
def _only(expansion: Any, replicas: list[int]) -> Any:
    before, expansion.active = expansion.active, replicas
    try:
        yield
    finally:
        expansion.active = before


def _updated(values: list[Any], new: list[Any], replicas: Sequence[int]) -> list[Any]:
    merged = list(values)
    for replica in replicas:
        merged[replica] = new[replica]
    return merged


def _set_outputs(
    expansion: Any,
    op: tf.Operation,
    results: list[list[Any]],
    emitted: list[list[tf.Operation]],
) -> None:
    for output, values in zip(op.outputs, results, strict=True):
        expansion.set_value(output, values)
    expansion.set_emitted(op, emitted)
