"""A variable is on a device that no replica has.

## What it does

Looks for variables of 64 KiB or more on a device that is not a replica's own. Strategies that keep
variables elsewhere by design (central storage, parameter servers) are left out, and runs in which
this was not recorded.

## Why is this slow

Every replica copies the variable to its device in each step, and its update back.

## What to do

Remove the `tf.device(...)` around its creation, and create it inside `strategy.scope()`, so that
each replica holds a copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.advice.rules.detour import short
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding
from strategy_lab.profiles.reporting import units

KEY = "variable-off-device"
NO_GAIN = "The copies of a variable are not recorded apart from other copies."


def find(facts: Facts) -> Iterator[Finding]:
    """All of them in one finding; what they cost is not recorded apart from other copies."""
    found = facts.placed.off_device
    if not found or facts.segment.has_central_copy is not False:
        return
    largest, total = found[0], sum(each.bytes for each in found)
    others = units.counted(len(found) - 1, "other variable")
    are = f"{largest.name} and {others} are" if len(found) > 1 else f"{largest.name} is"
    yield finding(
        facts,
        KEY,
        f"{are} on {short(largest.device)}, where no replica computes: {units.size(total)} that "
        "the replicas copy to their devices in each step that uses them.",
        "Remove the tf.device(...) around the variable's creation, and create it inside "
        "strategy.scope(), so that each replica holds a copy.",
        None,
        variable=largest.name,
        device=largest.device,
        bytes=total,
        num_variables=len(found),
    )
