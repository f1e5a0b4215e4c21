"""An op of a replica runs on another device.

## What it does

Looks for ops of a replica on a device that is not its own and that take 5 % of a step or more,
with the bytes that move there and back.

## Why is this slow

The replica waits while its tensors travel, and the other device does work that is not its own.

## What to do

Remove the `tf.device(...)` around the op.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.late_because import at_least_its_lateness, detour_behind
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names

KEY = "detour"
ROWS = ("loop/steps",)
ON_ITS_OWN_DEVICE = "How long the op takes on the replica's own device was not recorded."
DETOUR_SHARE = 0.05
"""Ops on another device are worth a sentence if they take this share of a step."""


def find(facts: Facts) -> Iterator[Finding]:
    """Ops of a replica that run on another device, so that its tensors travel there and back."""
    wall = facts.breakdown.mean_ms("wall")
    for cause in facts.held_up.of_kind("detour"):
        if not wall or cause.held_ms / wall < DETOUR_SHARE:
            continue
        late = facts.stragglers.straggler
        is_reason = late is not None and detour_behind(facts, late) is cause
        cost = per_step(facts, cause.held_ms, wall)
        if is_reason and late:
            cost = at_least_its_lateness(facts, cost, late)
        moved = "an unknown number of bytes" if cause.bytes is None else units.size(cause.bytes)
        yield finding(
            facts,
            KEY,
            f"{cause.detail or cause.name} of replica {cause.replica} runs on "
            f"{short(cause.device)}, not on its own device: in each step {moved} are moved "
            f"between the two, and it takes {of_a_step(facts, cause.held_ms, wall)}.",
            "Remove the tf.device(...) around this op, so that the strategy places it.",
            cost,
            op=cause.name,
            device=cause.device,
            replica=cause.replica,
            bytes=cause.bytes,
            held_ms=cause.held_ms,
        )


def short(device: str | None) -> str:
    return short_names([device])[device] if device else "another device"


def removal(facts: Facts, result: Finding) -> Removal | str:
    """With its replica as fast as the others, if the op makes that replica late."""
    late = facts.stragglers.straggler
    cause = detour_behind(facts, late) if late else None
    is_this = cause is not None and cause.name == result.evidence["op"]
    if late and cause and is_this and cause.replica == late.replica == result.evidence["replica"]:
        return Removal("average-replica")
    return ON_ITS_OWN_DEVICE
