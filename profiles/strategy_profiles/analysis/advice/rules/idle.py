"""No replica runs an op, and nothing recorded says why.

## What it does

Takes tracing, Python, calls and, if there are many ops, the runtime's start of each off the time
of a typical captured step in which no replica runs anything, and the time by which the step is
longer than the median step without a capture, which is the capture's own: 30 % of the rest of the
step or more is left. Without captures, the mean of the replicas' idle times counts instead. The
rule `short-steps` covers steps below 4 ms, twice the interval of the samples of Python, and
`replicas-in-turns` replicas that are idle while another runs.

## Why is this slow

The devices wait for something that the run does not record. If the function of the step has been
called, its next op waits for a core, or for another op that was not recorded.

## What to do

Record full captures; look at the ops before and after the gap on the Timeline page; run the
program under py-spy. If the function has been called, leave more cores to the step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from strategy_profiles.analysis.advice.rules import replicas_in_turns
from strategy_profiles.analysis.advice.rules.python_op import HELD_SHARE
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.tables.schema import CALLS

KEY = "idle"
ROWS = ("loop/steps/idle",)
NO_GAIN = "What the devices wait for was not recorded."
RECORDS_NO = "this run does not record"
IDLE_SHARE = 0.3
OTHERS = ("python", "read-back", "tracing", "argument")
"""Causes of idling that have findings of their own."""
SAMPLED_MS = 4.0
"""Twice the interval of the samples of Python, which do not say what holds shorter steps up."""


def find(facts: Facts) -> Iterator[Finding]:
    """What is left of the idle time once every known cause of it is taken off."""
    wall, idle_ms = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("idle")
    if not wall or idle_ms is None:
        return
    if not facts.breakdown.is_in_sync:
        if idle_ms / wall >= IDLE_SHARE:
            yield _without_closure(facts, idle_ms, wall)
        return
    in_turns = any(replicas_in_turns.find(facts))  # while one replica runs, the others are idle
    if in_turns or facts.captures_are_unlike or (wall < SAMPLED_MS and not facts.is_imported):
        return
    if facts.held_up.held_ms("tracing") / wall >= HELD_SHARE:
        return  # what a new graph needs before it runs is not recorded: `retracing` reports it
    known_ms = facts.held_up.held_ms(*OTHERS, *CALLS)
    between_ms = facts.held_up.held_ms("between-ops")
    known_ms += between_ms if facts.held_up.has_many_ops else 0.0  # `small-ops` tells it
    known_ms = max(known_ms, facts.held_up.launch_ms)  # Python is a reason for late launches
    wall -= (extra_ms := _only_when_captured_ms(facts, wall))
    if (idle_ms - known_ms - extra_ms) / wall < IDLE_SHARE:
        return
    # Replicas that run one after the other are idle by turns, each of them for longer than all.
    all_idle_ms = facts.all_idle_ms
    left_ms = (idle_ms if all_idle_ms is None else all_idle_ms) - known_ms - extra_ms
    if left_ms / wall < IDLE_SHARE:
        return
    none_runs = "no replica runs an op"
    if all_idle_ms is None and len(facts.breakdown.replicas) > 1:
        none_runs = "a replica on average runs no op"
    who = "the profile does not tell" if facts.is_imported else RECORDS_NO
    why, advice = f", for a reason that {who}", _record_next(facts)
    if between_ms >= left_ms / 2 and not facts.held_up.has_many_ops:
        why = (
            " although the function of the step has been called: the next one waits for a core, or "
            "for an op that was not recorded"
        )
        advice = (
            "Leave more cores to the step: end other programs, and move the work of the program's "
            "other threads and processes to before the training, or to another machine."
        )
    yield finding(
        facts,
        KEY,
        f"For {of_a_step(facts, left_ms, wall)}, {none_runs}{why}.",
        advice,
        per_step(facts, left_ms, wall, "derived"),
        idle_ms=idle_ms,
        unknown_ms=left_ms,
    )


def _only_when_captured_ms(facts: Facts, wall_ms: float) -> float:
    """By how much captured steps are longer than the others: the profiler starts or ends in them.

    0 if every step was captured, or none.
    """
    steps = facts.steps
    usual = steps.wall_ms[steps.timed & ~steps.captured]
    if facts.breakdown.source != "measured" or not usual.size:
        return 0.0
    return max(0.0, wall_ms - float(np.median(usual)))


def _without_closure(facts: Facts, idle_ms: float, wall: float) -> Finding:
    return finding(
        facts,
        KEY,
        f"For {of_a_step(facts, idle_ms, wall)}, it has no closure to run: its last result is "
        "being delivered, or the coordinator has no closure ready.",
        "Give each step more work, or use only as many workers as the coordinator can keep busy.",
        per_step(facts, idle_ms, wall),
        idle_ms=idle_ms,
    )


def _record_next(facts: Facts) -> str:
    if facts.breakdown.source != "measured":
        return (
            "Record full captures of some steps (capture.overhead_budget above 0): they show "
            "what Python and tf.data do in this time."
        )
    if facts.is_imported:
        return (
            "Open a captured step on the Timeline page and look at the ops before and after the "
            "gap, and at the host's threads meanwhile."
        )
    return (
        "Open a captured step on the Timeline page and look at the ops before and after the "
        "gap. To see threads that TensorFlow does not run, run the program under py-spy for a "
        "minute."
    )
