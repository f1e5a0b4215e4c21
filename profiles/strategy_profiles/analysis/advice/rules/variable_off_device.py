"""A variable is on a device that no replica has, or on that of another replica.

## What it does

Looks for variables of 64 KiB or more on a device that is not a replica's own. Strategies that keep
variables elsewhere by design (central storage, parameter servers) are left out, and runs in which
this was not recorded. In captured steps, a transfer of a variable's size from its device is a copy
of it. Also looks for transfers of 64 KiB or more of what a `ReadVariableOp` returns, from the
device of one replica to that of another, unless the former reads it itself. The cost is the
time of the transfers, for the replica for which it is longest. If they make a replica late, it is
at least what the others wait for it.

## Why is this slow

Every replica copies the variable to its device in each step, and its update back.

## What to do

Remove the `tf.device(...)` around its creation, and create it inside `strategy.scope()`, so that
each replica holds a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strategy_profiles.analysis.advice.late_because import at_least_its_lateness, copies_behind
from strategy_profiles.analysis.advice.rules.detour import short
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.analysis.placed import CopiedVariables, PlacedVariable
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names

KEY = "variable-off-device"
ROWS = ("loop/steps",)
NO_GAIN = "How long the replicas would read their own copies was not recorded."

_ADVICE = (
    "Remove the tf.device(...) around the variable's creation, and create it inside "
    "strategy.scope(), so that each replica holds a copy. Or look up the rows that a step needs "
    "(tf.gather of the variable) before they are copied."
)


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each of both kinds. It costs what the copies take in captured steps."""
    if facts.segment.has_central_copy is not False:
        return
    if facts.placed.off_device.variables:
        yield _off_device(facts, facts.placed.off_device)
    if facts.placed.lent.variables:
        yield _lent(facts, facts.placed.lent)


def copies_of(facts: Facts, copied: CopiedVariables, replica: int) -> str:
    """`It copies 16.0 MB of variables from CPU:1, which takes 10 % of a typical captured step`."""
    taken = _share_of_step(facts, copied.ms_of[replica])
    takes = f", which takes {taken}" if taken else ""
    where = short(copied.variables[0].device)
    return f"It copies {_size(copied.variables)} of variables from {where}{takes}"


def _off_device(facts: Facts, copied: CopiedVariables) -> Finding:
    variables = copied.variables
    name, taken = variables[0].name, _share_of_step(facts, copied.longest_ms)
    takes = f" The copies take {taken}." if taken else ""
    names = short_names([variables[0].device, *facts.segment.replica_devices])
    title = f"The variable {name}"
    if variables[0].read_at:
        title = f"A variable that is read at {variables[0].read_at}"
    are = f"{title} is" if len(variables) == 1 else f"{title} and {_others(variables)} are"
    sentence = (
        f"{are} on {names[variables[0].device]}, where no replica computes: {_size(variables)} "
        f"that the replicas copy to their devices in each step that uses them.{takes}"
    )
    return _finding(facts, sentence, copied)


def _lent(facts: Facts, copied: CopiedVariables) -> Finding:
    variables = copied.variables
    name, taken = variables[0].name, _share_of_step(facts, copied.longest_ms)
    takes = f", which takes {taken}" if taken else ""
    are = f" and {_others(variables)} are" if len(variables) > 1 else " is"
    sentence = (
        f"The variable that {name} reads{are} on {short(variables[0].device)}, the device of one "
        f"replica: the others copy {_size(variables)} from there in each step that uses "
        f"them{takes}."
    )
    return _finding(facts, sentence, copied)


def _finding(facts: Facts, sentence: str, copied: CopiedVariables) -> Finding:
    variables, copied_ms = copied.variables, copied.longest_ms
    wall, late = facts.breakdown.mean_ms("wall"), facts.stragglers.straggler
    cost = per_step(facts, copied_ms, wall) if copied_ms and wall else None
    if late and copies_behind(facts, late) is copied:
        sentence += f" This makes {late.name} late by {units.milliseconds(late.late_ms)}."
        cost = at_least_its_lateness(facts, cost, late)
    return finding(
        facts,
        KEY,
        sentence,
        _ADVICE,
        cost,
        variable=variables[0].name,
        device=variables[0].device,
        bytes=sum(each.bytes for each in variables),
        num_variables=len(variables),
        copied_ms=copied_ms,
    )


def _share_of_step(facts: Facts, copied_ms: float | None) -> str:
    wall = facts.breakdown.mean_ms("wall")
    return of_a_step(facts, copied_ms, wall) if copied_ms and wall else ""


def _others(variables: Sequence[PlacedVariable]) -> str:
    return units.counted(len(variables) - 1, "other variable")


def _size(variables: Sequence[PlacedVariable]) -> str:
    return units.size(sum(each.bytes for each in variables))
