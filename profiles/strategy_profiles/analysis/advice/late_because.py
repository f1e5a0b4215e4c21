"""Which other finding makes a replica late: ops on another device, or copies of variables.

The finding on the cause and the one on the late replica refer to each other. The first costs at
least what the second does.
"""

from __future__ import annotations

import numpy as np

from strategy_profiles.analysis.advice.line_advice import advice_by_text
from strategy_profiles.analysis.causes import Cause
from strategy_profiles.analysis.cost import Cost
from strategy_profiles.analysis.facts import Facts, per_step
from strategy_profiles.analysis.placed import CopiedVariables
from strategy_profiles.analysis.stragglers import ReplicaLateness
from strategy_profiles.reporting import units

_CHOOSE = (".skip(", ".shard(")
"""What leaves elements of a dataset out."""
MOST_OF_LATENESS = 0.5
"""A finding makes a replica late if it accounts for this part of its lateness."""


def detour_behind(facts: Facts, late: ReplicaLateness) -> Cause | None:
    """The detour that makes a replica late: of its own ops, or of another's ops on its device."""
    devices = facts.segment.replica_devices
    own = devices[late.replica] if late.replica < len(devices) else None
    for cause in facts.held_up.of_kind("detour"):
        is_its = late.replica == cause.replica or (own is not None and own == cause.device)
        if is_its and cause.held_ms >= MOST_OF_LATENESS * late.late_ms:
            return cause
    return None


def copies_behind(facts: Facts, late: ReplicaLateness) -> CopiedVariables | None:
    """The variables that a replica copies for so much longer than the others that it is late."""
    if facts.segment.has_central_copy is not False:
        return None
    all_late = {item.replica for item in facts.stragglers.late}
    for copied in (facts.placed.off_device, facts.placed.lent):
        on_time = [ms for replica, ms in copied.ms_of.items() if replica not in all_late]
        if late.replica not in copied.ms_of or not on_time:
            continue
        longer_ms = copied.ms_of[late.replica] - float(np.median(on_time))
        if longer_ms >= MOST_OF_LATENESS * late.late_ms:
            return copied
    return None


def cost_of_lateness(facts: Facts, late: ReplicaLateness) -> Cost | None:
    """What the others' wait for this replica costs."""
    of_captured = facts.stragglers.source == "measured"
    step_ms = facts.stragglers.step_ms if of_captured else facts.steps.median_ms
    return per_step(facts, late.late_ms, step_ms, "derived") if step_ms else None


def at_least_its_lateness(facts: Facts, cost: Cost | None, late: ReplicaLateness) -> Cost | None:
    """The cost of what makes a replica late: its own time, or the others' wait if longer."""
    waited = cost_of_lateness(facts, late)
    if cost is None or (waited is not None and waited.share > cost.share):
        return waited
    return cost


def _thrown_away(facts: Facts) -> str:
    """Of a worker that skips what map() made for it: ends with a space; or nothing."""
    line = facts.only_line(*_CHOOSE)
    if line is None or not facts.maps:
        return ""
    first = facts.maps[0].at
    if first.file != line.file or first.line > line.line:
        return ""
    return (
        f"{line.place} (`{line.text.strip()}`) throws away elements that map() at {first.place} "
        "has made: choose the worker's elements before map(). "
    )


def late_batch(facts: Facts, worker: int, longer_ms: float) -> str:
    """What to do about a worker whose batches take longer than those of the others."""
    found = facts.read_batch_line(worker)
    at = f" at {found.line.place} (`{found.line.text}`)" if found else ""
    if found and not found.waits:
        known = advice_by_text(facts, found.line)
        return (
            f"Its own Python{at} takes {units.milliseconds(longer_ms)} longer than that of the "
            f"others. {f'{known} ' if known else ''}If only this worker has to do it, do it every "
            "few steps, or in another thread or process, beside the steps. If it makes the batch, "
            "compare the data of the workers."
        )
    return (
        f"Its batch{at} takes {units.milliseconds(longer_ms)} longer than those of the others. "
        f"{_thrown_away(facts)}Check its part of the input: how much data its shard has, where it "
        "reads it from, and how many cores prepare it."
    )
