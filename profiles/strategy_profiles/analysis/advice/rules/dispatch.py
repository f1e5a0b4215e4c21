"""TensorFlow's own Python around the calls of a step takes long.

## What it does

Adds up the calls into TensorFlow and Keras while no replica runs an op: 30 % of a step or more.
While a function is traced, the calls prepare it, and this says nothing. The time that
`python-in-input`, `many-small-collectives` or `eager-step` reports does not count. Comes after
`debugging-ops` if TensorFlow checks every op.

## Why is this slow

Each call of a `tf.function` costs Python its own time; on short steps that is most of the step.

## What to do

Run several steps in one `tf.function` (`steps_per_execution`), or give each step more work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from strategy_profiles.analysis.advice.rows import rows_anywhere
from strategy_profiles.analysis.advice.rules.argument_copy import outside_function
from strategy_profiles.analysis.advice.rules.busy_thread import of_threads_ms
from strategy_profiles.analysis.advice.rules.debugging_ops import behind_calls
from strategy_profiles.analysis.advice.rules.eager_step import single_ops
from strategy_profiles.analysis.advice.rules.idle import IDLE_SHARE
from strategy_profiles.analysis.advice.rules.many_small_collectives import (
    of_small_collectives_ms,
)
from strategy_profiles.analysis.advice.rules.python_in_input import without_input_ms
from strategy_profiles.analysis.advice.rules.python_op import HELD_SHARE
from strategy_profiles.analysis.advice.rules.tiny_batch import TINY_BATCH
from strategy_profiles.analysis.causes import Cause
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.tables.schema import CALLS

KEY = "dispatch"
ROWS = ("loop/steps/idle",)
_OWN_FIT = re.compile(r"\bdef fit\(")
NO_GAIN = "Python around the calls of a step is not an op of the replayed step."


def calls_alone_ms(facts: Facts) -> float:
    """Time of the calls of a typical captured step that no other finding explains."""
    outside = sum(each.share for each in (outside_function(facts), single_ops(facts)) if each)
    outside_ms = outside * (facts.breakdown.mean_ms("wall") or 0.0)
    others_ms = of_small_collectives_ms(facts) + of_threads_ms(facts) + outside_ms
    return max(0.0, without_input_ms(facts) - others_ms)


def _dispatch(facts: Facts, calls: tuple[Cause, ...], calls_ms: float, wall: float) -> Finding:
    result = finding(
        facts,
        KEY,
        f"{of_a_step(facts, calls_ms, wall)} is spent in TensorFlow's Python around the calls "
        "of the step while no replica runs an op.",  # its line is one of TensorFlow's own files
        _advice(facts),
        per_step(facts, calls_ms, wall),
        place=calls[0].name,
        held_ms=calls_ms,
    )
    return replace(result, caused_by=behind_calls(facts))


def _advice(facts: Facts) -> str:
    batch = facts.segment.global_batch_size
    if batch and batch <= TINY_BATCH and facts.lines_with("train_on_batch("):
        return (
            "Give train_on_batch() the examples of several calls at once, if the program need not "
            "train on each alone: a call takes nearly as long with many."
        )
    return f"{several_steps(facts)}, or give each step more work."


def several_steps(facts: Facts) -> str:
    """How to run several steps in one call: in `fit` by an argument, else by a loop."""
    num_steps = facts.steps.num_warm_up
    number = f"more than {num_steps}" if num_steps > 1 else "several"
    how = "steps_per_execution in Keras's fit, a loop in the tf.function otherwise"
    if facts.lines_with(".fit(") and not facts.first_line_of_sources(_OWN_FIT):
        how = "steps_per_execution of compile()"
    elif facts.lines and not facts.lines_with("train_on_batch("):
        how = "for _ in tf.range(...), which takes batches of an iterator, in a tf.function"
    return f"Run {number} steps in one call ({how}){unless_program_acts(facts)}"


def unless_program_acts(facts: Facts) -> str:
    """What several steps in one call need, if the program does something after each step."""
    acts = any(rows_anywhere(facts, kind) for kind in ("own-lines", "host-read"))
    return ", if the program need not act between two of them" if acts else ""


def find(facts: Facts) -> Iterator[Finding]:
    """What Python does around the calls, unless the captures say nothing of a usual step."""
    wall = facts.breakdown.mean_ms("wall")
    if not wall or not facts.breakdown.is_in_sync or facts.captures_are_unlike:
        return
    calls = facts.held_up.of_kind(*CALLS)
    calls_ms = calls_alone_ms(facts)
    is_tracing = facts.held_up.held_ms("tracing") / wall >= HELD_SHARE
    # While a function is traced, the calls prepare it.
    if calls_ms / wall >= IDLE_SHARE and not is_tracing:
        yield _dispatch(facts, calls, calls_ms, wall)
