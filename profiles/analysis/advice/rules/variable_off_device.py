"""A variable is on a device that no replica has.

## What it does

Looks for variables of 64 KiB or more on a device that is not a replica's own. Strategies that keep
variables elsewhere by design (central storage, parameter servers) are left out, and runs in which
this was not recorded. In captured steps, a transfer of a variable's size from its device is a copy
of it. The cost is their time, for the replica for which it is longest.

## Why is this slow

Every replica copies the variable to its device in each step, and its update back.

## What to do

Remove the `tf.device(...)` around its creation, and create it inside `strategy.scope()`, so that
each replica holds a copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.advice.rules.detour import short
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding, of_a_step, per_step
from strategy_lab.profiles.reporting import units

KEY = "variable-off-device"
NO_GAIN = "How long the replicas would read their own copies was not recorded."


def find(facts: Facts) -> Iterator[Finding]:
    """All of them in one finding. It costs what the copies take in captured steps."""
    found, wall = facts.placed.off_device, facts.breakdown.mean_ms("wall")
    if not found or facts.segment.has_central_copy is not False:
        return
    copied_ms = facts.placed.copied_ms
    largest, total = found[0], sum(each.bytes for each in found)
    takes = f" The copies take {of_a_step(facts, copied_ms, wall)}." if copied_ms and wall else ""
    others = units.counted(len(found) - 1, "other variable")
    are = (
        f"{largest.name} and {others} are" if len(found) > 1 else f"The variable {largest.name} is"
    )
    yield finding(
        facts,
        KEY,
        f"{are} on {short(largest.device)}, where no replica computes: {units.size(total)} that "
        f"the replicas copy to their devices in each step that uses them.{takes}",
        "Remove the tf.device(...) around the variable's creation, and create it inside "
        "strategy.scope(), so that each replica holds a copy.",
        per_step(facts, copied_ms, wall) if copied_ms and wall else None,
        variable=largest.name,
        device=largest.device,
        bytes=total,
        num_variables=len(found),
        copied_ms=copied_ms,
    )
