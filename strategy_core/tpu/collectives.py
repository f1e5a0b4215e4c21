"""Collectives between replicas: all-reduce, all-to-all and permutation, emitted as sums and copies.

A sum is computed on one replica's device and copied to the others. The device alternates, to
distribute the load. Cores with the same number communicate with each other, so a tensor that is
partitioned within its replica is reduced tile by tile and stays partitioned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import tpu as private_tf
from strategy_core.tpu.report import num_bytes
from strategy_core.tpu.sharded import Sharded


def cross_replica_sum(expansion: Any, op: tf.Operation, graph: Any) -> bool:
    """`CrossReplicaSum`: the sum over each group of replicas, on all of them."""
    del graph
    groups = _groups(op.inputs[1], expansion.num_replicas)
    values = [expansion.value(op.inputs[0], replica) for replica in range(expansion.num_replicas)]
    first = values[0]
    if isinstance(first, Sharded) and all(_like(first, value) for value in values):
        tiles: list[list[Any]] = [[] for _ in values]
        for core in range(expansion.num_cores):
            summed = _sum(expansion, op, [v.tiles[core] for v in values], groups, core)
            for replica, tile in enumerate(summed):
                tiles[replica].append(tile)
        results: list[Any] = [Sharded(tuple(each), first.layout, first.shape) for each in tiles]
        _finish(expansion, op, results, [[t.op for t in each] for each in tiles])
        return True
    core = expansion.placement.home(op.inputs[0])
    dense = [expansion.whole(value, r, core) for r, value in enumerate(values)]
    summed = _sum(expansion, op, dense, groups, core)
    expansion.placement.set_home(op.outputs, core)
    _finish(expansion, op, summed, [[tensor.op] for tensor in summed])
    return True


def all_to_all(expansion: Any, op: tf.Operation, graph: Any) -> bool:
    """`AllToAll`: replica i of a group gets slice i of every replica's tensor, concatenated."""
    del graph
    groups = private_tf.constant_value(op.inputs[1]).tolist()
    concat, split = op.get_attr("concat_dimension"), op.get_attr("split_dimension")
    inputs = [expansion.dense(op.inputs[0], r) for r in range(expansion.num_replicas)]
    results: list[Any] = [None] * expansion.num_replicas
    for members in groups:
        with _communication(expansion, "all-to-all", op, members, inputs) as nodes:
            slices = {}
            for replica in members:
                with expansion.groups[replica].on(0, op.name):
                    slices[replica] = tf.split(inputs[replica], len(members), axis=split)
            for position, target in enumerate(members):
                pieces = [_sent(expansion, slices[q][position], q, target) for q in members]
                with expansion.groups[target].on(0, op.name):
                    results[target] = tf.concat(pieces, axis=concat)
                nodes.append(results[target])
    _finish(expansion, op, results, [[tensor.op] for tensor in results])
    return True


def collective_permute(expansion: Any, op: tf.Operation, graph: Any) -> bool:
    """`CollectivePermute`: a target gets its source's tensor; other replicas get zeros."""
    del graph
    pairs = private_tf.constant_value(op.inputs[1]).tolist()
    source_of = {target: source for source, target in pairs}
    inputs = [expansion.dense(op.inputs[0], r) for r in range(expansion.num_replicas)]
    results: list[Any] = []
    members = sorted({replica for pair in pairs for replica in pair})
    with _communication(expansion, "collective-permute", op, members, inputs) as nodes:
        for replica, own in enumerate(inputs):
            source = source_of.get(replica)
            with expansion.groups[replica].on(0, op.name):
                if source is None:
                    results.append(tf.zeros_like(own))
                else:
                    results.append(tf.identity(_sent(expansion, inputs[source], source, replica)))
            nodes.append(results[-1])
    _finish(expansion, op, results, [[tensor.op] for tensor in results])
    return True


HANDLERS: dict[str, Callable[[Any, tf.Operation, Any], bool]] = {
    "CrossReplicaSum": cross_replica_sum,
    "AllToAll": all_to_all,
    "CollectivePermute": collective_permute,
}
"""Handlers of `expansion` for the ops that communicate between replicas."""


def _sum(
    expansion: Any,
    op: tf.Operation,
    values: Sequence[tf.Tensor],
    groups: list[list[int]],
    core: int,
) -> list[tf.Tensor]:
    results: list[Any] = [None] * len(values)
    for members in groups:
        root = members[len(expansion.report.collectives) % len(members)]
        with _communication(expansion, "all-reduce", op, members, values, core) as nodes:
            sent = [_sent(expansion, values[r], r, root, core) for r in members]
            with expansion.groups[root].on(core, op.name):
                total = tf.add_n(sent) if len(members) > 1 else tf.identity(values[root])
            for replica in members:
                _sent(expansion, total, root, replica, core)
                with expansion.groups[replica].on(core, op.name):
                    results[replica] = total if replica == root else tf.identity(total)
                nodes.append(results[replica])
    return results


def _sent(expansion: Any, tensor: Any, source: int, target: int, core: int = 0) -> Any:
    """Record that a tensor is sent from one replica to another."""
    devices = expansion.devices
    expansion.recorder.transfer(tensor, devices[source][core], devices[target][core], "collective")
    return tensor


def _communication(
    expansion: Any, kind: str, op: tf.Operation, members: Sequence[int], values: Any, core: int = 0
) -> Any:
    devices = [expansion.devices[replica][core] for replica in members]
    size = num_bytes(values[members[0]]) if members else None
    return expansion.recorder.communication(kind, op.name, devices, size)


def _groups(assignment: tf.Tensor, num_replicas: int) -> list[list[int]]:
    groups = private_tf.constant_value(assignment)
    if groups is None or not groups.size:
        return [list(range(num_replicas))]
    return [list(map(int, members)) for members in groups]


def _like(first: Sharded, other: Any) -> bool:
    return isinstance(other, Sharded) and other.layout == first.layout


def _finish(
    expansion: Any, op: tf.Operation, results: list[Any], emitted: list[list[tf.Operation]]
) -> None:
    expansion.set_value(op.outputs[0], results)
    expansion.set_emitted(op, emitted)
