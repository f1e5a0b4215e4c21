"""Steps in which no replica runs anything: what Python did meanwhile, as far as it was recorded."""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.causes import Cause
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding, of_a_step
from strategy_lab.profiles.reporting import units

IDLE_SHARE = 0.3
HELD_SHARE = 0.1
"""A cause of idling is named from this share of a step on."""
FEWEST_RETRACES = 2
INJECTED_OP = "injected_delay"
"""The lab's own op, which sleeps; the late replica's finding names the delay."""
UNLIKE_THE_OTHERS = 0.5
"""Captured steps that take less than this part of the median step say little of it."""


def retracing(facts: Facts) -> Iterator[Finding]:
    """A function that is traced again and again; the first step's tracing is no fault."""
    traced, steps = facts.retracing, facts.steps
    captured = facts.held_up.of_kind("tracing")
    wall, building_ms = facts.breakdown.mean_ms("wall"), facts.held_up.held_ms("tracing")
    name = traced.function or (captured[0].name if captured else "")
    if len(traced.steps) >= FEWEST_RETRACES:
        count = (
            f"{len(traced.steps):,} of the {units.counted(steps.count - 1, 'step')} after the first"
        )
    elif captured and captured[0].num_steps >= FEWEST_RETRACES:
        count = (
            f"{captured[0].num_steps} of {units.counted(facts.held_up.num_steps, 'captured step')}"
        )
    else:
        return
    why = f": {traced.argument}" if traced.argument else ""
    cost, share = "", None
    if building_ms and wall:
        share = building_ms / wall
        cost = f" Building its graph takes {of_a_step(facts, building_ms, wall)}."
    elif len(traced.steps) > steps.count / 2:
        share = 0.5
    yield finding(
        facts,
        "retracing",
        f"{name} is traced again in {count}{why}.{cost}",
        _about_tracing(traced.argument),
        share,
        function=name,
        num_steps=len(traced.steps),
        argument=traced.argument,
        building_ms=building_ms or None,
    )


def _about_tracing(argument: str | None) -> str:
    if argument is None:
        return (
            "Create each tf.function once, outside the loop, and pass it tensors: it is "
            "traced again for a new Python value or shape."
        )
    return (
        "Pass changing numbers as tensors (tf.constant, tf.Variable). For changing shapes, "
        "give the tf.function an input_signature or reduce_retracing=True."
    )


def python_ops(facts: Facts) -> Iterator[Finding]:
    """Ops that leave the graph to run Python."""
    wall = facts.breakdown.mean_ms("wall")
    every = facts.held_up.of_kind("python-op")
    for cause in [cause for cause in every if INJECTED_OP not in cause.name][:1]:
        if not wall or cause.held_ms / wall < HELD_SHARE:
            continue
        yield finding(
            facts,
            "python-op",
            f"{of_a_step(facts, cause.held_ms, wall)} runs Python inside the graph: the op "
            f"{cause.name} ({cause.detail}).",
            "Replace py_function or numpy_function with TensorFlow ops, or move its work to "
            "the input pipeline.",
            cause.held_ms / wall,
            op=cause.name,
            held_ms=cause.held_ms,
        )


def between_calls(facts: Facts) -> Iterator[Finding]:
    """The program's own Python in the step, with the line that takes longest."""
    wall = facts.breakdown.mean_ms("wall")
    lines = facts.held_up.of_kind("python", "read-back")
    held_ms = facts.held_up.held_ms("python", "read-back")
    if not wall or held_ms / wall < HELD_SHARE:
        return
    longest = lines[0]
    doing = "copies a tensor to Python" if longest.kind == "read-back" else "runs Python"
    yield finding(
        facts,
        "host-round-trip",
        f"{of_a_step(facts, held_ms, wall)} is spent in the program's own Python while no "
        f"replica runs an op: most of it ({units.milliseconds(longest.held_ms)}) {doing} at "
        f"{_place(longest)}.",
        "The replicas wait for this work. Move it into the tf.function or another thread, or "
        "do it only every few steps.",
        held_ms / wall,
        place=longest.name,
        line=longest.detail,
        held_ms=held_ms,
    )


def idle(facts: Facts) -> Iterator[Finding]:
    """What is left of the idle time once every known cause of it is taken off."""
    wall, idle_ms = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("idle")
    if not wall or idle_ms is None:
        return
    if not facts.breakdown.is_in_sync:
        if idle_ms / wall >= IDLE_SHARE:
            yield _without_closure(facts, idle_ms, wall)
        return
    median = facts.steps.median_ms
    if facts.breakdown.source == "measured" and median and wall / median < UNLIKE_THE_OTHERS:
        yield _not_captured(facts, wall, median)
        return
    calls = facts.held_up.of_kind("call")
    calls_ms = facts.held_up.held_ms("call")
    is_tracing = facts.held_up.held_ms("tracing") / wall >= HELD_SHARE
    # While a function is traced, the calls prepare it.
    if calls_ms / wall >= IDLE_SHARE and not is_tracing:
        yield _dispatch(facts, calls, calls_ms, wall)
    known_ms = facts.held_up.held_ms("tracing", "python", "read-back", "call")
    left_ms = idle_ms - known_ms
    if left_ms / wall < IDLE_SHARE:
        return
    yield finding(
        facts,
        "idle",
        f"{of_a_step(facts, left_ms, wall)} no replica runs an op, for a reason that this run "
        "does not record.",
        _record_next(facts),
        left_ms / wall,
        idle_ms=idle_ms,
        unknown_ms=left_ms,
    )


def _dispatch(facts: Facts, calls: tuple[Cause, ...], calls_ms: float, wall: float) -> Finding:
    return finding(
        facts,
        "dispatch",
        f"{of_a_step(facts, calls_ms, wall)} is spent in TensorFlow's Python around the calls "
        f"of the step while no replica runs an op, most of it at {_place(calls[0])}.",
        "Run several steps in one tf.function (steps_per_execution), or give each step more work.",
        calls_ms / wall,
        place=calls[0].name,
        held_ms=calls_ms,
    )


def _not_captured(facts: Facts, wall: float, median: float) -> Finding:
    return finding(
        facts,
        "not-captured",
        f"A typical captured step took {units.milliseconds(wall)}, the median step "
        f"{units.milliseconds(median)}: the captures do not show why other steps take longer.",
        "Record more steps, or capture every step (capture.every_step): the first window is "
        "early, when the input's buffers may still be full.",
        1 - wall / median,
        captured_ms=wall,
        median_ms=median,
    )


def _without_closure(facts: Facts, idle_ms: float, wall: float) -> Finding:
    return finding(
        facts,
        "idle",
        f"{of_a_step(facts, idle_ms, wall)} it has no closure to run: its last result is being "
        "delivered, or the coordinator has no closure ready.",
        "Give each step more work, or use only as many workers as the coordinator can keep busy.",
        idle_ms / wall,
        idle_ms=idle_ms,
    )


def _record_next(facts: Facts) -> str:
    if facts.breakdown.source != "measured":
        return (
            "Record full captures of some steps (capture.overhead_budget above 0): they show "
            "what Python and tf.data do in this time."
        )
    return (
        "Open a captured step on the Timeline page and look at the ops before and after the "
        "gap. To see threads that TensorFlow does not run, run the program under py-spy for a "
        "minute."
    )


def _place(cause: Cause) -> str:
    return f"{cause.name} (`{cause.detail}`)" if cause.detail else cause.name
