"""What travels in a step: collectives, tensors from device to device, and who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from strategy_film.rows import Rows
from strategy_film.scene import Exchange, Member, Names, Ring, SentTensor, Wait
from strategy_profiles.analysis.communication import of_program
from strategy_profiles.capture.bandwidth import bus_factor

RING = "collective-ring"
_ROUNDS = {"all-reduce": 2, "reduce-scatter": 1, "all-gather": 1}
"""Times n - 1: a piece of the sum goes around once to be added up, and once to be handed out."""
NodeOf = Mapping[str, int]
"""Index of the node of each device."""


def exchanges(rows: Rows, node_of: NodeOf, names: Names) -> tuple[Exchange, ...]:
    """Return the collectives of the step with two members or more, in order of time."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    turns: dict[tuple[Any, ...], int] = {}
    for row in of_program(rows.collectives).sort_by("start_ns").to_pylist():
        node = node_of.get(row["device"] or "")
        if node is None or row["step"] != rows.step.step:
            continue
        key = _key(row)
        # A collective in a loop runs several times under one key.
        turn = turns[*key, node] = turns.get((*key, node), -1) + 1
        groups.setdefault((*key, turn), []).append({**row, "node": node})
    joined = [_exchange(rows, members, names) for members in groups.values() if len(members) > 1]
    return tuple(sorted(joined, key=lambda exchange: exchange.first_entered_ns))


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Identify an execution by its instance; without one by its name, or by its last entry."""
    instance, is_derived = row["instance"], row["source"] == "derived"
    if is_derived:
        return "derived", instance, row["name"]
    if instance is not None and instance >= 0:
        return "instance", instance
    return "entered", round((row["start_ns"] / 1e6 + (row["wait_ms"] or 0.0)) * 100)


def _exchange(rows: Rows, members: Sequence[Mapping[str, Any]], names: Names) -> Exchange:
    first = members[0]
    op, size = first["op"] or "collective", first["bytes"]
    parts = tuple(
        Member(row["node"], row["start_ns"], row["end_ns"])
        for row in sorted(members, key=lambda row: row["node"])
    )
    entered = max(part.entered_ns for part in parts)
    # Clocks of two workers agree within microseconds: no member is done before all are in.
    parts = tuple(part._replace(end_ns=max(part.end_ns, entered)) for part in parts)
    ring = None
    if rows.segment.cross_device_ops == RING and first["source"] != "derived" and op in _ROUNDS:
        count = _ROUNDS[op] * (len(parts) - 1)
        factor = bus_factor(op, len(parts))
        moved = None if size is None or factor is None else size * factor / count
        ring = Ring(count, moved)
    return Exchange(
        op, names.index(first["name"]), size, first["source"] or "", parts, entered, ring
    )


def sent_tensors(rows: Rows, node_of: NodeOf, names: Names) -> tuple[SentTensor, ...]:
    """Return the tensors sent between nodes whose arrival was recorded, in order of time."""
    tensors = []
    for row in rows.transfers.sort_by("start_ns").to_pylist():
        sender, receiver = (node_of.get(row[f"{end}_device"] or "") for end in ("send", "recv"))
        if sender is None or receiver is None or sender == receiver:
            continue
        if row["step"] == rows.step.step and row["duration_ms"] is not None:
            times, name = (row["start_ns"], row["end_ns"]), names.index(row["tensor"])
            tensors.append(SentTensor(*times, sender, receiver, row["bytes"], name))
    return tuple(tensors)


def waits(
    rows: Rows, exchanges: Sequence[Exchange], sent_tensors: Sequence[SentTensor], names: Names
) -> tuple[Wait, ...]:
    """Return who waits for whom: for the last member of a collective, or the sender of a tensor."""
    all_waits = [
        Wait(member.entered_ns, exchange.all_entered_ns, member.node, exchange.last)
        for exchange in exchanges
        if exchange.source != "derived"
        for member in exchange.members
        if member.entered_ns < exchange.all_entered_ns
    ]
    sent = {
        (sent_tensor.receiver, names.texts[sent_tensor.name]): sent_tensor
        for sent_tensor in sent_tensors
    }
    return tuple(sorted([*all_waits, *_waits_for_tensors(rows, sent)]))


def _waits_for_tensors(rows: Rows, sent: Mapping[tuple[int, str], SentTensor]) -> list[Wait]:
    """Return the waits of receives. A receive is named after its tensor: `dense/MatMul/_17`."""
    nodes = {replica: number for number, replica in enumerate(rows.own)}
    of_tensors = []
    for row in rows.spans.select(["category", "replica", "name", "start_ns", "end_ns"]).to_pylist():
        if row["category"] != "wait" or row["replica"] not in nodes:
            continue
        node, tensor = nodes[row["replica"]], (row["name"] or "").rpartition("/_")[0]
        sent_tensor = sent.get((node, tensor))
        if sent_tensor is not None:
            of_tensors.append(Wait(row["start_ns"], row["end_ns"], node, sent_tensor.sender))
    return of_tensors
