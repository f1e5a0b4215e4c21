"""A variable is on a device that no replica has, or on that of another replica.

## What it does

Looks for variables of 64 KiB or more on a device that is not a replica's own. Strategies that keep
variables elsewhere by design (central storage, parameter servers) are left out, and runs in which
this was not recorded. In captured steps, a transfer of a variable's size from its device is a copy
of it. Also looks for transfers of 64 KiB or more of what a `ReadVariableOp` returns, from the
device of one replica to that of another. The cost is the time of the transfers, for the replica for
which it is longest.

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


_ADVICE = (
    "Remove the tf.device(...) around the variable's creation, and create it inside "
    "strategy.scope(), so that each replica holds a copy."
)


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each of both kinds. It costs what the copies take in captured steps."""
    if facts.segment.has_central_copy is not False:
        return
    yield from _off_device(facts)
    yield from _lent(facts)


def _off_device(facts: Facts) -> Iterator[Finding]:
    found, wall = facts.placed.off_device, facts.breakdown.mean_ms("wall")
    if not found:
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
        _ADVICE,
        per_step(facts, copied_ms, wall) if copied_ms and wall else None,
        variable=largest.name,
        device=largest.device,
        bytes=total,
        num_variables=len(found),
        copied_ms=copied_ms,
    )


def _lent(facts: Facts) -> Iterator[Finding]:
    found, wall, copied_ms = (
        facts.placed.lent,
        facts.breakdown.mean_ms("wall"),
        facts.placed.lent_ms,
    )
    if not found:
        return
    largest, total = found[0], sum(each.bytes for each in found)
    takes = f", which takes {of_a_step(facts, copied_ms, wall)}" if copied_ms and wall else ""
    others = units.counted(len(found) - 1, "other variable")
    what = f"the variable that {largest.name} reads" + (f" and {others}" if len(found) > 1 else "")
    are = "are" if len(found) > 1 else "is"
    yield finding(
        facts,
        KEY,
        f"{what[0].upper()}{what[1:]} {are} on {short(largest.device)}, the device of one replica: "
        f"the others copy {units.size(total)} from there in each step that uses them{takes}.",
        _ADVICE,
        per_step(facts, copied_ms, wall) if copied_ms and wall else None,
        variable=largest.name,
        device=largest.device,
        bytes=total,
        num_variables=len(found),
        copied_ms=copied_ms,
    )
