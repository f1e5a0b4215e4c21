"""Collectives between replicas: all-reduce, all-to-all and permutation, emitted as sums and copies.

A sum is computed on one replica's device and copied to the others. The device alternates, to
distribute the load. Between two hosts only one tensor passes each way: every other host first adds
its own replicas' values on one of its cores, and copies the sum from there. Cores with the same
number communicate with each other, so a tensor that is partitioned within its replica is reduced
tile by tile and stays partitioned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from strategy_tpu import private_tf
from strategy_tpu.assignment import host_of
from strategy_tpu.report import num_bytes
from strategy_tpu.sharded import Sharded


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
            arrived = _exchanged(expansion, op, members, slices, concat)
            for target in members:
                with expansion.groups[target].on(0, op.name):
                    results[target] = tf.concat(arrived[target], axis=concat)
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
    """An all-reduce in each group of replicas, of the values on one core of each of them.

    A host adds its own values up first; one replica of each host then sends the sum to the root,
    which is another one for each collective, so that no core has all the work.
    """
    results: list[Any] = [None] * len(values)
    for members in groups:
        turn = len(expansion.report.collectives)
        root = members[turn % len(members)]
        hosts = _by_host(expansion, members, core)
        # The replica of each host that communicates with other hosts.
        leads = [root if root in host else host[turn % len(host)] for host in hosts]
        with _communication(expansion, "all-reduce", op, members, values, core) as nodes:
            terms = []
            for lead, host in zip(leads, hosts, strict=True):
                own = [(replica, values[replica]) for replica in host]
                is_roots = lead == root or len(own) == 1
                terms += own if is_roots else [(lead, _added(expansion, op, own, lead, core))]
            total = _added(expansion, op, terms, root, core)
            for lead, host in zip(leads, hosts, strict=True):
                arrived = _copied(expansion, op, total, root, lead, core)
                for replica in host:
                    results[replica] = _copied(expansion, op, arrived, lead, replica, core)
            nodes.extend(results[replica] for replica in members)
    return results


def _exchanged(
    expansion: Any,
    op: tf.Operation,
    members: Sequence[int],
    slices: Mapping[int, Sequence[tf.Tensor]],
    axis: int,
) -> dict[int, list[tf.Tensor]]:
    """What each member gets in an all-to-all, in the order of the members.

    The slices from one host to another pass as one tensor: a small message costs as much as a
    large one.
    """
    hosts = _by_host(expansion, members, 0)
    if [replica for host in hosts for replica in host] != list(members):
        hosts = [[replica] for replica in members]  # joined, the slices would be out of order
    number_of = {replica: number for number, replica in enumerate(members)}
    arrived: dict[int, list[tf.Tensor]] = {target: [] for target in members}
    for source in hosts:
        for target in hosts:
            own = [[slices[q][number_of[t]] for q in source] for t in target]
            if source is target:
                for t, each in zip(target, own, strict=True):
                    pairs = zip(source, each, strict=True)
                    arrived[t] += [_sent(expansion, piece, q, t) for q, piece in pairs]
                continue
            joined = _joined(expansion, op, source, own, axis)
            _sent(expansion, joined, source[0], target[0])
            with expansion.groups[target[0]].on(0, op.name):
                parts = tf.split(joined, len(target), axis=axis)
            for t, part in zip(target, parts, strict=True):
                arrived[t].append(_sent(expansion, part, target[0], t))
    return arrived


def _joined(
    expansion: Any,
    op: tf.Operation,
    source: Sequence[int],
    slices: Sequence[Sequence[tf.Tensor]],
    axis: int,
) -> tf.Tensor:
    """The slices of a host's replicas for another host, on the first of these replicas."""
    for each in slices:
        for replica, piece in zip(source, each, strict=True):
            _sent(expansion, piece, replica, source[0])
    with expansion.groups[source[0]].on(0, op.name):
        return tf.concat([piece for each in slices for piece in each], axis=axis)


def _by_host(expansion: Any, members: Sequence[int], core: int) -> list[list[int]]:
    """The members of a group, host by host."""
    by_host: dict[str, list[int]] = {}
    for replica in members:
        by_host.setdefault(host_of(expansion.devices[replica][core]), []).append(replica)
    return list(by_host.values())


def _added(
    expansion: Any,
    op: tf.Operation,
    terms: Sequence[tuple[int, tf.Tensor]],
    target: int,
    core: int,
) -> tf.Tensor:
    """The sum, on the target, of tensors that replicas have."""
    sent = [_sent(expansion, tensor, replica, target, core) for replica, tensor in terms]
    with expansion.groups[target].on(core, op.name):
        return tf.add_n(sent) if len(sent) > 1 else tf.identity(sent[0])


def _copied(
    expansion: Any, op: tf.Operation, tensor: tf.Tensor, source: int, target: int, core: int
) -> tf.Tensor:
    if source == target:
        return tensor
    _sent(expansion, tensor, source, target, core)
    with expansion.groups[target].on(core, op.name):
        return tf.identity(tensor)


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
