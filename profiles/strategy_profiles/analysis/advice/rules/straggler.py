"""A replica is late, and the others wait for it.

## What it does

Compares when the replicas enter the collectives of a step: of all steps if they have timestamps,
otherwise of the captured ones; of workers with neither, when they have their batches, or how much
processor time they use within a step. Names every late replica, the delay that the lab injected,
and whether its own work takes longer or it begins later, unless a loop's ops were too short to be
recorded. Of a worker whose ops run Python far longer than those of another, names the line. If
another finding makes it late (`detour`, `variable-off-device`, `inter-op-threads`, or what its
program does between steps), names that, and comes after it. Nothing if the replicas of one process
run Python in their graph for as long: they take turns, and `python-op` says that.

## Why is this slow

A synchronous step ends when its slowest replica does.

## What to do

Remove an injected delay. If its work takes longer, compare its ops with those of another replica
on the Timeline page. If its batch comes later, check its part of the input. If it begins later,
check how long results take to reach it, and what its program does between two steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from strategy_profiles.analysis.account.op_time import at_place
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice import few_threads
from strategy_profiles.analysis.advice.late_because import (
    copies_behind,
    cost_of_lateness,
    detour_behind,
    late_batch,
)
from strategy_profiles.analysis.advice.rules import (
    detour,
    python_op,
    shared_cores,
    variable_off_device,
)
from strategy_profiles.analysis.advice.rules.small_ops import loop_named, of_branch
from strategy_profiles.analysis.captured_steps import is_unlike
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.late_replicas import (
    expected_by_delay,
    explained_by_delay,
    lateness_of,
    who_waits,
)
from strategy_profiles.analysis.longer_op import LongerOp
from strategy_profiles.analysis.python_in_ops import PythonInOps
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.analysis.stragglers import ReplicaLateness
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import FROM_FUNCTION, FROM_VALUES
from strategy_profiles.run.events import IN_TURNS, UNLIKE_EACH
from strategy_profiles.run.injected_delay import injected_delays

KEY = "straggler"
ROWS = ("loop/steps/wait", "loop/steps/delay")
FEWEST_CAPTURED, LARGE_LATENESS = 5, 0.25
"""Typical captured steps that must tell it, without timestamps of other steps; unless the lateness
is this part of the step. In three steps some replica is late by chance."""
PART_OF_LATENESS = 0.25
"""Least part of its lateness by which a replica's work is longer, for its work to be the reason.
Captured steps, which have the lengths of the ops, may be half as long as the others, or twice."""
ALWAYS_LAST = 0.9
"""Share of the steps in which a replica is the last one, where other programs have most of the
cores: the replica that has to wait for a core is another one from step to step."""
SHORTEST_WITHOUT_REASON_MS = 2.0
"""A process starts its replicas one after the other: on a busy machine one of two that have the
same work was the last in 88 % of steps of 4 ms, by 0.9 ms, and another in 94 %, by 1.7 ms, with ops
that took longer."""
MORE_OFTEN = 1.2
"""How many times as often as another replica a late one runs an op, at least, for its data to be
longer."""
LEAST_EXPLAINED = 0.75
"""Part of its lateness that a worker needs for what it does between steps, for that to be why."""
NOTICEABLE_PYTHON, MUCH_MORE = 0.2, 2.0
"""Least part of the loop in which a late worker's ops run Python, for that to be the reason, and
how many times that of another worker."""
NOTICEABLE_SLOWDOWN = 1.02
"""What a run gains without a late replica's own work, at least, for that work to be the reason."""

_OF_ITS_DATA = (
    "Compare the data of the replicas{at}, such as the lengths of their sequences, and deal long "
    "and short ones out evenly.{unlike}"
)
BEGINS_LATE = "It begins each step later, by what its program does between two steps"
_BETWEEN = {
    "own-lines": "between-steps",
    "function": "between-steps",
    "predict": "prediction",
}
"""Key of the finding on a row between steps, where it has not the name of its kind."""


def find(facts: Facts) -> Iterator[Finding]:
    """Every late replica, the latest first, with what the lab itself injected."""
    late, usual_ms = facts.stragglers.late, facts.steps.median_ms
    wall_ms = facts.stragglers.step_ms
    if not late or not usual_ms or not wall_ms or IN_TURNS in facts.noted:
        return
    is_large = late[0].late_ms >= LARGE_LATENESS * wall_ms
    is_rare = facts.stragglers.source == "measured" and facts.held_up.num_steps < FEWEST_CAPTURED
    if is_rare and not is_large:
        return
    if _is_by_chance(facts, late, is_rare=is_rare) or _waits_for_shared_input(facts, late[0]):
        return
    if late[0].late_ms <= python_op.of_turns_ms(facts):
        return  # `python-op` says so
    steps = "steps"
    if facts.stragglers.source == "measured":
        took = f", which took {units.milliseconds(wall_ms)}" if is_unlike(wall_ms, usual_ms) else ""
        steps = f"captured steps{took}"
    worst, delays_ms = late[0], injected_delays(facts.segment)
    because = explained_by_delay(facts.stragglers, delays_ms)
    parts = [lateness_of(item, because.get(item.replica)) for item in late]
    awaited = "it" if len(late) == 1 else worst.name
    sentence = (
        f"{units.listed(parts).capitalize()}: {who_waits(facts.stragglers)} for {awaited} in "
        f"{units.share(worst.last_share)} of the {steps}"
    )
    for before, item in itertools.pairwise(late):
        others = units.share(item.last_share)
        sentence += f", and would wait for {item.name} in {others} without {before.name}"
    injected = f" {injected_sentence(delays_ms)}" if delays_ms.keys() - because else ""
    cause = _finding_behind(facts, worst)
    result = finding(
        facts,
        KEY,
        f"{sentence}.{injected}",
        cause[1] if cause else _advice(facts, late, delays_ms),
        None if cause and _begins_between(cause) else cost_of_lateness(facts, worst),
        replica=worst.replica,
        worker=worst.worker,
        late_ms=worst.late_ms,
        input_longer_ms=_input_behind(facts, worst),
        last_share=worst.last_share,
        slowdown=worst.slowdown,
        late={str(item.replica): item.late_ms for item in late},
        injected_ms={str(replica): ms for replica, ms in delays_ms.items()},
    )
    yield replace(result, caused_by=cause[0] if cause else None)


def _waits_for_shared_input(facts: Facts, late: ReplicaLateness) -> bool:
    """Whether it is late by its batch, which its process takes for all its replicas: `input-bound`
    reports that."""
    is_shared = facts.shares_input and not injected_delays(facts.segment)
    return is_shared and _input_behind(facts, late) is not None


def _is_by_chance(facts: Facts, late: Sequence[ReplicaLateness], *, is_rare: bool) -> bool:
    """Whether nothing known makes the replicas late, where the machine alone may.

    It may where replicas take turns on fewer cores, and in few captured steps. With most replicas
    late, the others are early: no replica stands out. One that is late by a small part of the worst
    lateness does not count: one of three that is late by 17 ms beside one by 1.6 ms stands out.
    """
    worst = late[0]
    if injected_delays(facts.segment) or _finding_behind(facts, worst):
        return False
    is_taken = facts.load is not None and facts.load.is_mostly_taken
    is_short = worst.late_ms < SHORTEST_WITHOUT_REASON_MS
    if is_taken and (worst.last_share < ALWAYS_LAST or is_short):
        return True
    as_late = [item for item in late if item.late_ms >= PART_OF_LATENESS * worst.late_ms]
    if len(as_late) > facts.segment.num_replicas / 2:
        return True
    has_reason = works_longer(facts, worst) or _input_behind(facts, worst) is not None
    is_sharing = shared_cores.num_sharing(facts) is not None
    return not has_reason and (is_rare or is_short or is_sharing)


def _finding_behind(facts: Facts, late: ReplicaLateness) -> tuple[str, str] | None:
    """The key of the finding that makes the replica late, and the sentence that refers to it."""
    if ops := detour_behind(facts, late):
        if ops.replica == late.replica:
            where = detour.short(ops.device)
            return detour.KEY, f"It waits for {ops.name}, which runs on {where}: see that finding."
        sentence = f"Its device runs {ops.name} for replica {ops.replica}: see that finding."
        return detour.KEY, sentence
    if copied := copies_behind(facts, late):
        sentence = variable_off_device.copies_of(facts, copied, late.replica)
        return variable_off_device.KEY, f"{sentence}: see that finding."
    # The account is of that worker. The replicas of a single one all begin after the same lines.
    if late.worker == 0 and facts.segment.num_workers > 1:
        between = facts.account.children("loop/between")
        longest = max(between, key=lambda row: row.total_ms, default=None)
        if longest is not None and (_begins_late(facts, late) or _explains(facts, between, late)):
            return _BETWEEN.get(longest.kind, longest.kind), f"{BEGINS_LATE}: see that finding."
    if few_threads.few_threads(facts) and not works_longer(facts, late):
        return few_threads.KEY, "It waits for a thread to run its ops on: see that finding."
    return None


def _begins_between(cause: tuple[str, str]) -> bool:
    """Whether what the program does between steps makes it late, which has a cost of its own."""
    return cause[1].startswith(BEGINS_LATE)


def _explains(facts: Facts, between: Sequence[Row], late: ReplicaLateness) -> bool:
    """Whether what a worker does between steps makes it late: it takes nearly as long."""
    own = [row for row in between if row.kind != "recording"]
    between_ms = sum(facts.account.ms_per_step(row) for row in own)
    return between_ms >= LEAST_EXPLAINED * late.late_ms


def _advice(facts: Facts, late: Sequence[ReplicaLateness], delays_ms: dict[int, float]) -> str:
    because = explained_by_delay(facts.stragglers, delays_ms)
    unexplained = [item for item in late if item.replica not in because]
    if not unexplained:
        return "Remove the injected delay to measure the program without it."
    lead = ""
    if delays_ms:
        names = units.listed([item.name for item in unexplained])
        lead = f"The injected delay does not explain {names}. "
    worst = unexplained[0]
    expected_ms = expected_by_delay(facts.stragglers, delays_ms).get(worst.replica, 0.0)
    if 0.0 < expected_ms < worst.late_ms:
        part, whole = map(units.milliseconds, (expected_ms, worst.late_ms))
        lead = (
            f"The injected delay explains {part} of the {whole} by which {worst.name} is late: "
            "remove it to measure the rest. "
        )
    elif len(unexplained) > 1:
        lead += f"{worst.name[0].upper()}{worst.name[1:]} is the latest. "
    if (arrives_late := _why_it_arrives_late(facts, worst)) is not None:
        return lead + arrives_late
    if facts.stragglers.cores:
        return lead + _works_more(facts, unexplained)
    slowdown = facts.stragglers.slowdown if len(late) > 1 else late[0].slowdown
    loop = facts.held_up.unrecorded_loop
    if loop is not None:
        return (
            f"{lead}Whether it has more work is not known, as the ops of the loop "
            f"{loop_named(facts, loop)} are too short to be recorded. "
            f"{of_branch(loop) or _of_its_data(facts)}"
        )
    if (slowdown or 0.0) < NOTICEABLE_SLOWDOWN or not works_longer(facts, worst):
        return (
            f"{lead}It does no more work than the others but starts each step later. Check its "
            "input pipeline, record full captures of it, and check how long results take to "
            "reach it."
        )
    return f"{lead}Its own work takes longer{_longest(facts, worst)}{_evenly(facts, unexplained)}"


def _of_its_data(facts: Facts) -> str:
    """What to do about a replica that has more work, with the shapes that tell it."""
    shapes = facts.noted.get(UNLIKE_EACH)
    unlike = f" In the first step they got tensors of other shapes: {shapes}." if shapes else ""
    return _OF_ITS_DATA.format(at=_dealt(facts), unlike=unlike)


def _dealt(facts: Facts) -> str:
    """`, which come from train.py:97 (`line`)`: a function of the program gives each its own."""
    at = facts.said_at(FROM_VALUES, FROM_FUNCTION).removeprefix(" at ")
    return f", which come from {at}" if at else ""


def _longest(facts: Facts, late: ReplicaLateness) -> str:
    """The ops that make a replica's work longer, and what that says; ends the sentence."""
    longer = _longer_op(facts, late)
    if longer is None or longer.longer_ms < PART_OF_LATENESS * late.late_ms:
        at = _dealt(facts)
        return f". It has more data, or a slower device: compare the data of the replicas{at}."
    at = at_place(longer.line)
    most = f", most of all in `{longer.op}`{at}, by {units.milliseconds(longer.longer_ms)} a step."
    count, others = longer.count, longer.count_of_others
    if not others:
        return f"{most} No other replica on time runs it."
    if count >= MORE_OFTEN * others:
        return (
            f"{most} It runs this op {units.number(count)} times a step, another replica "
            f"{units.number(others)} times. {_of_its_data(facts)}"
        )
    return (
        f"{most} The others run it as often, so it has larger tensors, such as more examples, or "
        f"a slower device. {_of_its_data(facts)}"
    )


def _longer_op(facts: Facts, late: ReplicaLateness) -> LongerOp | None:
    all_late = {item.replica for item in facts.stragglers.late}
    on_time = {item.replica for item in facts.breakdown.replicas} - all_late
    return facts.read_longer_op(late.replica, on_time) if on_time else None


def _input_behind(facts: Facts, late: ReplicaLateness) -> float | None:
    """How much longer its batch takes than those on time; None if that does not make it late."""
    is_derived = facts.stragglers.source == "derived"
    if is_derived and (facts.stragglers.cores or not np.isfinite(facts.steps.input_ms).any()):
        # late by what it computes; or no wait was measured, and it has its batch with the step
        return None if facts.stragglers.cores else late.late_ms
    all_late = {item.replica for item in facts.stragglers.late}
    waits_ms = {item.replica: item.input_ms for item in facts.breakdown.replicas}
    own_ms = waits_ms.get(late.replica)
    on_time = [ms for r, ms in waits_ms.items() if r not in all_late and ms is not None]
    if own_ms is None or not on_time:
        return None
    longer_ms = own_ms - float(np.median(on_time))
    return longer_ms if longer_ms >= late.late_ms / 2 else None


def _why_it_arrives_late(facts: Facts, late: ReplicaLateness) -> str | None:
    """What to do about a worker whose batch comes later, or that asks for it later; None if it is
    late by something else."""
    longer_ms = _input_behind(facts, late)
    if longer_ms is not None:
        return late_batch(facts, late.worker, longer_ms)
    if not _begins_late(facts, late):
        return None
    return (
        f"{BEGINS_LATE}. Compare it with the others: a checkpoint, a log, a result that one worker "
        "alone writes."
    )


def _begins_late(facts: Facts, late: ReplicaLateness) -> bool:
    """Whether it asks for its batches later than the others, and has them as soon."""
    is_derived = facts.stragglers.source == "derived" and not facts.stragglers.cores
    return is_derived and _input_behind(facts, late) is None


def _works_more(facts: Facts, all_late: Sequence[ReplicaLateness]) -> str:
    """What to do about the latest worker, which uses more cores within a step than the others."""
    cores, late = facts.stragglers.cores, all_late[0]
    used = (
        f"within a step it uses {cores[late.worker]:.1f} cores, another worker "
        f"{min(cores.values()):.1f}"
    )
    what = (
        "the sizes of their batches, the lengths of their sequences, and code that only one of "
        "them runs"
    )
    evenly = _evenly(facts, all_late)
    if _waits_are_known(facts, late):
        lead = f"It computes longer than the others: {used}. Compare what they compute: "
        return f"{lead}{what}.{evenly}"
    inside = _python_behind(facts, late)
    if inside is not None:
        return (
            f"It works longer than the others: {used}. For {units.share(inside.share)} of the loop "
            f"its input, or an op of its step, runs Python, {inside.said}: do less "
            "there, do it once (`cache()`, files that are prepared before), or use TensorFlow ops "
            f"instead.{evenly}"
        )
    return (
        f"It works longer than the others: {used}. Whether in its computation or in its input "
        "pipeline is not known, as the function of the step takes the batch itself. Compare what "
        "they read and how they prepare it (the sizes of files and images, "
        f"`num_parallel_calls`), {what}.{evenly}"
    )


def _python_behind(facts: Facts, late: ReplicaLateness) -> PythonInOps | None:
    """The Python that makes a worker late: its ops run far more of it than those of another."""
    inside = facts.read_python_in_ops(late.worker)
    if inside is None or inside.share < NOTICEABLE_PYTHON:
        return None
    others = [facts.read_python_in_ops(worker) for worker in facts.stragglers.cores]
    least = min(each.share if each else 0.0 for each in others)
    return inside if inside.share >= MUCH_MORE * least else None


def _evenly(facts: Facts, late: Sequence[ReplicaLateness]) -> str:
    """What a step gains if each replica, or worker, has as much of the work as the others."""
    cores, worst = facts.stragglers.cores, late[0]
    who, number = ("workers", len(cores)) if cores else ("replicas", facts.segment.num_replicas)
    shorter_ms = worst.late_ms - sum(item.late_ms for item in late) / number
    on_cpu = not cores and "/device:CPU:" in facts.segment.replica_devices[worst.replica]
    most = "up to " if on_cpu else ""
    less = ", less if its ops already use the cores of those that wait" if on_cpu else ""
    return (
        f" The same work, divided evenly among the {who}, makes a step "
        f"{most}{units.milliseconds(shorter_ms)} shorter{less}."
    )


def _waits_are_known(facts: Facts, late: ReplicaLateness) -> bool:
    return any(
        item.replica == late.replica and item.input_ms is not None
        for item in facts.breakdown.replicas
    )


def works_longer(facts: Facts, late: ReplicaLateness) -> bool:
    """Whether its own ops take so much longer on average than those of the replicas on time that
    this may make it late.

    The slowdown adds up the steps in which they do: two replicas whose work varies, but is the same
    on average, have one as well. True if the work of the replicas is not known.
    """
    all_late = {item.replica for item in facts.stragglers.late}
    work_ms = {
        item.replica: item.compute_ms + (item.delay_ms or 0.0)
        for item in facts.breakdown.replicas
        if item.compute_ms is not None
    }
    on_time = [ms for replica, ms in work_ms.items() if replica not in all_late]
    # Between the recorded ops of a loop are some that were too short: its work looks idle.
    if late.replica not in work_ms or not on_time or facts.held_up.loop is not None:
        return True
    longer_ms = work_ms[late.replica] - float(np.median(on_time))
    return longer_ms > max(0.0, PART_OF_LATENESS * late.late_ms)


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """No injected delay, if there is one."""
    return {"inject": []} if injected_delays(facts.segment) else {}


def injected_sentence(delays_ms: dict[int, float]) -> str:
    """`The lab injected 60.0 ms into replica 0 and 30.0 ms into replica 2.`"""
    parts = [f"{units.milliseconds(ms)} into replica {r}" for r, ms in sorted(delays_ms.items())]
    return f"The lab injected {units.listed(parts)}."


def removal(facts: Facts, result: Finding) -> Removal | str:
    """Without the injected delay if it explains every late replica, else with the latest replica
    as fast as the others; not if copies of variables make it late."""
    late, delays_ms = facts.stragglers.late, injected_delays(facts.segment)
    if len(explained_by_delay(facts.stragglers, delays_ms)) == len(late):
        return Removal("no-delay")
    if result.caused_by == variable_off_device.KEY:
        return variable_off_device.NO_GAIN
    return Removal("average-replica")
