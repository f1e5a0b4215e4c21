"""How much memory does each device hold over a step, and what holds it at the peak?

Tensors come from one captured step (table `tensors`), variables from the placement. The tensors'
sizes and times are derived, so the sum is an estimate of what an allocator hands out; it leaves out
constants and what kernels need only while they run.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import in_order
from strategy_profiles.tables.columns import ints, of_segment
from strategy_profiles.tables.store import Profile

NO_TENSORS = "no captured step of this segment has the sizes of its tensors"


class HeldTensor(Struct, frozen=True):
    """A tensor, or all variables of one name, held at the peak."""

    kind: str
    """`variable` or `tensor`."""
    name: str
    op: str | None
    bytes: int


class DeviceStepMemory(Struct, frozen=True):
    """One device over a step. Bytes are of variables and tensors together, where not said."""

    worker: int
    device: str
    variable_bytes: int | None
    """None if the size of a variable is not known, or no variable was recorded."""
    peak_bytes: int
    peak_at_ms: float
    """From the start of the step."""
    at_ms: tuple[float, ...]
    bytes: tuple[int, ...]
    """What is held from each time of `at_ms` on."""
    holders: tuple[HeldTensor, ...]
    """What is held at the peak, the largest first."""


class StepMemory(Struct, frozen=True):
    """The devices of a segment in one captured step; `reason` says why they are unknown."""

    segment: int
    step: int | None = None
    devices: tuple[DeviceStepMemory, ...] = ()
    source: str | None = None
    """`derived` from the graph and the times of its ops."""
    reason: str | None = None

    @property
    def highest(self) -> DeviceStepMemory | None:
        return max(self.devices, key=lambda item: item.peak_bytes, default=None)


def step_memory(profile: Profile, segment: int) -> StepMemory:
    """Return the memory over the newest captured step of a segment that has tensors."""
    table = of_segment(profile.table("tensors"), segment)
    if not table.num_rows:
        return StepMemory(segment, reason=profile.unknown.get("tensors", NO_TENSORS))
    step = int(ints(table, "step").max())
    rows = table.filter(pa.array(ints(table, "step") == step)).to_pylist()
    held: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        held[row["worker"], row["device"] or ""].append(row)
    variables = _variables(profile, segment)
    starts = {
        worker: min(
            row["start_ns"] for (of, _), tensors in held.items() if of == worker for row in tensors
        )
        for worker in {worker for worker, _ in held}
    }
    ordered = in_order({device for _, device in held})
    devices = tuple(
        _of_device(
            worker, device, held[worker, device], variables.get((worker, device)), starts[worker]
        )
        for worker, device in sorted(held, key=lambda key: (key[0], ordered.index(key[1])))
    )
    return StepMemory(segment, step, devices, rows[-1]["source"])


def _variables(profile: Profile, segment: int) -> dict[tuple[int, str], list[HeldTensor]]:
    """Return the variables by process and device; without a device if a size is not known."""
    variables: dict[tuple[int, str], list[HeldTensor]] = defaultdict(list)
    unknown = set()
    placed = of_segment(profile.table("placement"), segment)
    for row in placed.filter(pc.equal(placed["kind"], "variable")).to_pylist():
        key = row["worker"], row["device"] or ""
        if row["bytes"] is None:
            unknown.add(key)
        variables[key].append(HeldTensor("variable", row["name"], row["op"], row["bytes"] or 0))
    return {key: holders for key, holders in variables.items() if key not in unknown}


def _of_device(
    worker: int,
    device: str,
    rows: list[dict[str, Any]],
    variables: list[HeldTensor] | None,
    origin_ns: int,
) -> DeviceStepMemory:
    changes: dict[int, int] = defaultdict(int)
    for row in rows:
        changes[row["start_ns"]] += row["bytes"]
        changes[row["end_ns"]] -= row["bytes"]
    times = sorted(changes)
    always = sum(holder.bytes for holder in variables or ())
    totals = list(accumulate((changes[at] for at in times), initial=always))[1:]
    top = max(range(len(times)), key=totals.__getitem__)
    tensors = [
        HeldTensor("tensor", row["name"], row["op"], row["bytes"])
        for row in rows
        if row["start_ns"] <= times[top] < row["end_ns"]
    ]
    return DeviceStepMemory(
        worker=worker,
        device=device,
        variable_bytes=None if variables is None else always,
        peak_bytes=totals[top],
        peak_at_ms=(times[top] - origin_ns) / 1e6,
        at_ms=tuple((at - origin_ns) / 1e6 for at in times),
        bytes=tuple(totals),
        holders=tuple(sorted([*(variables or ()), *tensors], key=lambda item: -item.bytes)),
    )


def peak_sentence(item: DeviceStepMemory, name: str) -> str:
    """Say how much a device holds at its peak, when, and the largest part of it."""
    most = item.holders[0]
    share = "" if not item.peak_bytes else f", {units.share(most.bytes / item.peak_bytes)} of it"
    known = "" if item.variable_bytes is not None else ", without its variables"
    return (
        f"{name} holds up to {units.size(item.peak_bytes)}{known}, "
        f"{units.milliseconds(item.peak_at_ms)} into the step; the largest part is the {most.kind} "
        f"{most.name} ({units.size(most.bytes)}{share})."
    )
