"""How much memory does each device hold over a step, and what holds it at the peak?"""

from __future__ import annotations

from collections.abc import Mapping

from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.memory_spread import FEW
from strategy_profiles.analysis.step_memory import (
    DeviceStepMemory,
    HeldTensor,
    StepMemory,
    peak_sentence,
    step_memory,
)
from strategy_profiles.answers.answer import Answer, Column, Line, Lines, Missing, Table, table
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.reporting.palette import device_colours
from strategy_profiles.tables.store import Profile

KEY = "step_memory"
TITLE = "Memory over a step"
_DEFINITION = (
    "Variables, and the tensors that the ops of a captured step return. Derived: sizes come from "
    "the graph, times from the ops. An op's output is held until the last op that reads it ends. "
    "Constants and what a kernel needs only while it runs are left out."
)


def memory_over_step(profile: Profile, facts: Facts) -> Answer:
    """Return the answer for a segment."""
    memory = step_memory(profile, facts.segment.segment)
    if memory.highest is None:
        return Answer(KEY, parts=(Missing(KEY, TITLE, memory.reason or "not recorded"),))
    names = short_names(item.device for item in memory.devices)
    devices = _devices(memory, memory.highest, names)
    return Answer(KEY, parts=(devices, _lines(memory, names), _peak_table(memory.highest, names)))


def _devices(memory: StepMemory, highest: DeviceStepMemory, names: Mapping[str, str]) -> Table:
    columns = (
        Column("device", "Device", "name", value=lambda item: names[item.device]),
        Column("peak_bytes", "Peak", "bytes"),
        Column("peak_at_ms", "Peak after", "ms", "From the start of the step.", is_detail=True),
        Column("variable_bytes", "Variables", "bytes"),
        Column("largest", "Largest part", "name", value=lambda item: item.holders[0].name),
        Column("largest_bytes", "Its size", "bytes", value=lambda item: item.holders[0].bytes),
    )
    is_one = len(memory.devices) == 1
    return table(
        KEY,
        TITLE,
        memory.devices,
        columns,
        definition=_DEFINITION,
        source="derived",
        notes=(
            peak_sentence(highest, names[highest.device]),
            f"Step {memory.step:,}, derived from the graph and the times of its ops.",
        ),
        details=() if is_one else tuple(_peak_table(item, names) for item in memory.devices),
    )


def _lines(memory: StepMemory, names: Mapping[str, str]) -> Lines:
    """What the devices with the highest peaks hold, from each moment on."""
    highest = sorted(memory.devices, key=lambda item: -item.peak_bytes)[:FEW]
    drawn = [index for index, item in enumerate(memory.devices) if item in highest]
    of_place = zip(drawn, device_colours(drawn), strict=True)
    few = f"The {FEW} highest of {len(memory.devices)} devices."
    return Lines(
        "step_memory_lines",
        "Held from moment to moment",
        tuple(
            Line(names[item.device], item.at_ms, item.bytes, colour)
            for index, colour in of_place
            if (item := memory.devices[index])
        ),
        "ms into the step",
        "held",
        "bytes",
        is_stepped=True,
        notes=(few,) if len(memory.devices) > FEW else (),
    )


def _peak_table(item: DeviceStepMemory, names: Mapping[str, str]) -> Table:
    """What a device holds at its peak, the largest first."""

    def share(held: HeldTensor) -> float | None:
        return held.bytes / item.peak_bytes if item.peak_bytes else None

    columns = (
        Column("name", "Held", "name"),
        Column("kind", "Kind"),
        Column("op", "Op"),
        Column("bytes", "Size", "bytes"),
        Column("share", "Share", "share", value=share),
    )
    title = f"Held at the peak of {names[item.device]}"
    return table("held", title, item.holders, columns, source="derived", is_detail=True)
