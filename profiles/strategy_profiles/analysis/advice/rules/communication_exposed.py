"""Communication is not hidden behind computation.

## What it does

Compares the transfer of a typical step with its length: at least 25 % of the step moves tensors
while no replica computes. Gathers that the program asks for count from 10 % on, with the ops that
join their parts.

## Why is this slow

A collective that nothing overlaps adds its whole length to the step. Its bytes depend on the
variables, not on the batch.

## What to do

Raise the batch per replica, try another cross-device algorithm, or use fewer replicas; with
parameter servers, spread the variables over more of them. Where a step reduces far more bytes than
its variables have, it reduces their gradients again and again, which are to be added up first; or,
in fewer calls, something else, of which less is to be reduced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_profiles.analysis.communication import Traffic
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import ALL_REDUCE, APPLIES_GRADIENTS

KEY = "communication-exposed"
ROWS = ("loop/steps/wait", "loop/steps/transfer")
EXPOSED_SHARE, GATHERED_SHARE = 0.25, 0.1
_GATHERS = ("strategy.gather(", "all_gather(")
_JOINS = "allgather"
"""Scope of the ops that join the parts of a gather."""
_OF_GATHER = (
    "Gather less: let each replica compute what is wanted of its part, such as a mean, and reduce "
    "that, or gather the short result. If it is for a log alone, do it every few steps."
)
_AS_LARGE, _FEW = 0.05, 0.5
"""How far the bytes that are reduced may be from those of all variables to be their gradients, and
the part of these that a step writes at most for the rest to be reduced for nothing."""
_AGAIN = 1.8
"""Bytes that a step reduces, over those of all variables of a replica, from which on it reduces the
same gradients more than once."""


def find(facts: Facts) -> Iterator[Finding]:
    wall, transfer = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("transfer")
    if not wall or transfer is None:
        return
    gathered = gathered_ms(facts)
    if gathered is not None:
        yield finding(
            facts,
            KEY,
            f"{of_a_step(facts, gathered, wall)} gathers tensors of all replicas"
            f"{facts.said_at(*_GATHERS)}.",
            _OF_GATHER,
            per_step(facts, gathered, wall),
            place=facts.lines_with(*_GATHERS)[0].place,
        )
    elif transfer / wall >= EXPOSED_SHARE:
        moved, advice = _moved(facts)
        yield finding(
            facts,
            KEY,
            f"{of_a_step(facts, transfer, wall)} {moved} while nothing is computed.{_calls(facts)}",
            advice,
            per_step(facts, transfer, wall),
            transfer_ms=transfer,
            bytes_per_step=facts.communication.collective_bytes,
        )


def gathered_ms(facts: Facts) -> float | None:
    """What the gathers that the program asks for take of a captured step, with the ops that join
    the parts; None if it asks for none, or if that is little."""
    uses = [use for use in facts.communication.collectives if use.op == "all-gather"]
    wall = facts.breakdown.mean_ms("wall")
    if not uses or not wall or not facts.lines_with(*_GATHERS):
        return None
    moved_ms = sum((use.wait_ms or 0.0) + (use.transfer_ms or 0.0) for use in uses)
    joined = sum(op.share for op in facts.ops if op.layer == _JOINS)
    spent_ms = moved_ms + joined * (facts.breakdown.mean_ms("compute") or 0.0)
    return spent_ms if spent_ms >= GATHERED_SHARE * wall else None


def _calls(facts: Facts) -> str:
    """` Its 12 all-reduce calls move 96.3 MB.`: of the kind of collective that moves most."""
    main = facts.communication.main
    if main is None or main.bytes is None or main.per_step < 1:
        return ""
    calls = "call moves" if round(main.per_step) == 1 else "calls move"
    own = facts.said_at(ALL_REDUCE)
    gradients = facts.said_at(APPLIES_GRADIENTS) if facts.segment.num_replicas > 1 else ""
    added = f" Gradients are added up{gradients}." if gradients else ""
    if own:
        added = f" The program asks for them{own}."
    return f" Its {main.per_step:,.0f} {main.op} {calls} {units.size(main.bytes)}.{added}"


def _moved(facts: Facts) -> tuple[str, str]:
    """What the transfers are, and what to do about them."""
    if _only_copies(facts):
        advice = (
            "Find the copies on the Timeline page: keep what each step uses on the device, and "
            "hand a batch over while the step before it computes."
        )
        return "copies tensors within a device or between it and its host", advice
    if facts.is_imported:
        remedy = "start it earlier, so that computation hides it, or use fewer replicas."
    elif facts.breakdown.is_in_sync:
        remedy = "try another cross-device algorithm, or use fewer replicas."
        if not facts.segment.is_of_lab:
            remedy = f"add up the gradients of several batches before they are reduced, {remedy}"
    else:
        remedy = "or spread the variables over more parameter servers."
    largest = "" if facts.is_imported else facts.placed.said_of_largest
    advice = (
        _reduced_and_not_used(facts)
        or _reduced_again(facts)
        or (f"Raise the batch per replica (the bytes stay the same), {remedy}{largest}")
    )
    if facts.lacks_ranks:
        return "waits for other ranks or moves tensors between them", advice
    if facts.breakdown.undivided:
        moved = "moves tensors between workers, or waits for the work of those not captured,"
        return moved, advice
    return "moves tensors between devices", advice


def _reduced_and_not_used(facts: Facts) -> str | None:
    """What to do if a step reduces the gradients of all variables and writes few; None if not."""
    main, whole = facts.communication.main, facts.placed.variable_bytes
    if main is None or main.op != "all-reduce" or not main.bytes or not whole or facts.is_imported:
        return None
    if abs(main.bytes / whole - 1.0) > _AS_LARGE:
        return None
    written = facts.read_written_bytes()
    if written is None or written > _FEW * whole:
        return None
    return (
        f"That is as much as all variables have, but ops of the step write only "
        f"{units.size(written)} of them. Compute and reduce the gradients of these alone: give "
        "tape.gradient() and all_reduce() only the variables that are updated, and set "
        "layer.trainable = False on the layers that stay as they are."
    )


def _reduced_again(facts: Facts) -> str | None:
    """What to do if a step reduces far more than the gradients of all variables; None if not."""
    main, whole = facts.communication.main, facts.placed.variable_bytes
    if main is None or main.op != "all-reduce" or not main.bytes or not whole:
        return None
    times = main.bytes / whole
    if times < _AGAIN or facts.is_imported:
        return None
    if main.per_step < times:  # gradients are reduced by a call at least
        at = facts.said_at(ALL_REDUCE)
        return (
            f"That is {units.number(times)} times as much as all variables of a replica have "
            f"({units.size(whole)}), so most of it is no gradients. Reduce less{at}: let each "
            "replica compute what is wanted of its part, such as a sum or some rows, and reduce "
            "that, or do it every few steps."
        )
    return (
        f"All variables of a replica have {units.size(whole)}, so each step reduces their "
        f"gradients {units.number(times)} times. Add up the gradients of its parts in the replica, "
        "and reduce the sum once, before it is applied."
    )


def _only_copies(facts: Facts) -> bool:
    """Whether every transfer of every replica stays on its device and that device's host.

    With a known algorithm between replicas, a copy to the host may be a part of a reduction there.
    """
    communication, parts, segment = facts.communication, facts.breakdown, facts.segment
    if communication.collectives or (segment.num_replicas > 1 and segment.cross_device_ops):
        return False
    was_captured = parts.source == "measured" and not parts.from_marks
    return was_captured and all(map(_is_copy, communication.traffic))


def _is_copy(moved: Traffic) -> bool:
    ends = {moved.send_device, moved.recv_device}
    return len(ends) == 1 or len({"CPU" in end for end in ends}) == 2


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """Twice the batch: the bytes stay, the computation doubles."""
    batch = facts.segment.global_batch_size
    if not batch or not facts.breakdown.is_in_sync or _only_copies(facts):
        return {}
    return {"global_batch_size": 2 * batch}


def removal(_facts: Facts, _result: Finding) -> Removal:
    """With collectives and transfers that take no time: the most that any remedy can save."""
    return Removal("free-ops", kind_of_op="communication", is_bound=True)
