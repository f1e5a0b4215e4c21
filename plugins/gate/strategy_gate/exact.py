"""What of a segment does not vary from run to run: counts, bytes and places of one step.

Facts are grouped. Of a group in `LESS_IS_BETTER`, more is worse and less is an improvement; of the
others, any difference counts. A fact that a group does not name is 0 if the group is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec import Struct

from strategy_profiles.analysis.communication import collectives_of
from strategy_profiles.analysis.placement import placement
from strategy_profiles.analysis.retracing import retracing
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.run.events import IMPORTED
from strategy_profiles.tables.columns import of_segment, texts

if TYPE_CHECKING:
    from strategy_profiles.run.events import SegmentOpened
    from strategy_profiles.tables.store import Profile

Value = float | str | None
"""A count, bytes, or a name; None if it is not known."""

LESS_IS_BETTER = ("collectives", "copies", "retraces", "memory", "detours")
GROUPS = ("replicas", "placement", *LESS_IS_BETTER)
_TOPICS = {"memory": "variables", "retraces": "causes", "detours": "causes"}
"""What an import has to tell for a group to be known (`Profile.unknown`)."""
_NO_CAPTURE = "no step was captured in full"


class ExactFacts(Struct, frozen=True):
    """The facts of one segment."""

    facts: dict[str, dict[str, Value]]
    """By group and name."""
    missing: dict[str, str]
    """Why a group is not known, by group."""

    @property
    def is_imported(self) -> bool:
        """Whether the run was recorded by another program."""
        return is_imported(self.facts)

    def value(self, group: str, name: str) -> Value:
        """A fact; 0 if its group is known and does not name it."""
        return self.facts.get(group, {}).get(name, 0)


def is_imported(facts: Mapping[str, Mapping[str, Value]]) -> bool:
    """Whether facts by group and name are those of imported runs."""
    return facts.get("replicas", {}).get("strategy") == IMPORTED


def exact_facts(profile: Profile, opened: SegmentOpened) -> ExactFacts:
    """The facts of a segment."""
    number = opened.segment
    facts: dict[str, dict[str, Value]] = {
        "replicas": {
            "number of replicas": opened.num_replicas,
            "number of workers": opened.num_workers,
            "strategy": opened.strategy,
            "cross-device algorithm": opened.cross_device_ops,
        },
        "retraces": {"steps that trace again": len(retracing(profile, number).steps)},
    }
    missing: dict[str, str] = {}
    if of_segment(profile.table("replica_steps"), number).num_rows:
        facts["collectives"] = _collectives(collectives_of(profile, number))
        facts["copies"] = _copies(of_segment(profile.table("transfers"), number))
        facts["detours"] = _detours(profile, number)
    else:
        missing |= dict.fromkeys(("collectives", "copies", "detours"), _NO_CAPTURE)
    _add_placement(profile, opened, facts, missing)
    for group, topic in _TOPICS.items():
        if topic in profile.unknown:
            facts.pop(group, None)
            missing[group] = profile.unknown[topic]
    return ExactFacts(facts, missing)


def _collectives(rows: pa.Table) -> dict[str, Value]:
    """By op and group size: calls of a replica in a step, and what they move together."""
    values: dict[str, Value] = {}
    totals = _totals(rows, ["op", "group_size"], ["step", "worker", "replica"])
    for (op, size), steps in totals.items():
        name = f"{op or 'unknown'} of {size or 'an unknown group'}"
        values[f"{name}, calls per step"] = _usual([calls for calls, _, _ in steps])
        is_known = all(calls == sized for calls, sized, _ in steps)
        values[f"{name}, bytes per step"] = _usual([b for _, _, b in steps]) if is_known else None
    return values


def _copies(rows: pa.Table) -> dict[str, Value]:
    """By link: the tensors that a step sends, and the bytes of those whose size is known.

    Tensors, not sends: in a loop of the graph each iteration sends, and a capture misses some.
    """
    short = short_names(
        name for end in ("send_device", "recv_device") for name in texts(rows, end) if name
    )
    ends = ["send_device", "recv_device"]
    tensors = rows.group_by(ends).aggregate([("tensor", "count_distinct")]).to_pylist()
    totals = _totals(rows, ends, ["step"])
    values: dict[str, Value] = {}
    for row in tensors:
        key = row["send_device"], row["recv_device"]
        link = " to ".join(short.get(name, "an unknown device") for name in key)
        values[f"{link}, tensors per step"] = row["tensor_count_distinct"]
        values[f"{link}, known bytes per step"] = _usual([b for _, _, b in totals[key]])
    return values


def _totals(
    rows: pa.Table, group: list[str], each: list[str]
) -> dict[tuple[object, ...], list[tuple[int, int, int]]]:
    """By group: `(rows, rows with a size, bytes)` of each step, or of each replica of a step."""
    counts = [("start_ns", "count"), ("bytes", "count"), ("bytes", "sum")]
    totals: dict[tuple[object, ...], list[tuple[int, int, int]]] = {}
    for row in rows.group_by([*group, *each]).aggregate(counts).to_pylist():
        key = tuple(row[name] for name in group)
        total = row["start_ns_count"], row["bytes_count"], row["bytes_sum"] or 0
        totals.setdefault(key, []).append(total)
    return totals


def _usual(values: list[int]) -> int:
    """The most frequent value: a capture may cut a step short."""
    return max(sorted(set(values)), key=values.count)


def _detours(profile: Profile, segment: int) -> dict[str, Value]:
    """Ops that leave their replica's device, or the graph: each is there or not."""
    rows: pa.Table = of_segment(profile.table("causes"), segment)
    kinds, names = texts(rows, "kind"), texts(rows, "name")
    devices, replicas = texts(rows, "device"), rows["replica"].to_pylist()
    values: dict[str, Value] = {}
    for kind, name, device, replica in zip(kinds, names, devices, replicas, strict=True):
        if kind == "detour":
            where = short_names([device])[device] if device else "another device"
            values[f"{name} of replica {replica} on {where}"] = 1
        elif kind == "python-op":
            values[f"{name}, which runs Python in the graph"] = 1
    return values


def _add_placement(
    profile: Profile,
    opened: SegmentOpened,
    facts: dict[str, dict[str, Value]],
    missing: dict[str, str],
) -> None:
    placed = placement(profile, opened.segment)
    if placed.reason:
        missing |= dict.fromkeys(("placement", "memory"), placed.reason)
        return
    short = short_names(item.device for item in placed.devices)
    places, memory = facts.setdefault("placement", {}), facts.setdefault("memory", {})
    for item in placed.devices:
        name = short[item.device]
        places[f"ops on {name}"] = item.num_ops
        if "variables" not in profile.unknown:
            places[f"variables on {name}"] = item.num_variables
        memory[f"variables on {name}, bytes"] = item.variable_bytes
    if opened.parameter_bytes is not None:
        memory["trainable variables, bytes of one copy"] = opened.parameter_bytes
