"""Python in the input pipeline holds up the Python that starts the steps.

## What it does

Looks for a generator, `py_function` or `numpy_function` of the input pipeline that runs in another
thread for half of the time or more in which TensorFlow's Python around the calls holds up a step:
10 % of a typical captured step or more. Names its line if the program has one such line.

## Why is this slow

Only one thread at a time runs Python. `prefetch` hides the input from the step, but a function that
computes in Python keeps its lock (GIL), which the step needs to be started. A capture shows that
both run at once, not which one waits for the other: one that sleeps or reads a file lets the lock
go.

## What to do

Replace the function with TensorFlow ops, do its work once and `cache()` its output, or do it in
other processes (`tf.data` service, `PyDataset` with `use_multiprocessing`).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from strategy_profiles.analysis.advice.line_advice import most_of_python
from strategy_profiles.analysis.advice.rules import input_bound
from strategy_profiles.analysis.advice.rules.python_op import HELD_SHARE
from strategy_profiles.analysis.causes import Cause
from strategy_profiles.analysis.facts import Facts, Finding, finding, of_a_step, per_step
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import PYTHON_OF_INPUT
from strategy_profiles.tables.schema import CALLS

KEY = "python-in-input"
ROWS = ("loop/steps/idle",)
NO_GAIN = "Python around the calls of a step is not an op of the replayed step."
MOST_OF_CALLS = 0.5
"""Least share of the time of the calls in which the function runs."""


def find(facts: Facts) -> Iterator[Finding]:
    wall, op = facts.breakdown.mean_ms("wall"), beside_calls(facts)
    if not wall or op is None or facts.captures_are_unlike or op.held_ms / wall < HELD_SHARE:
        return
    line = facts.only_line(*PYTHON_OF_INPUT)
    at = f" at {line.place} (`{line.text.strip()}`)" if line else ""
    calls_ms = facts.held_up.held_ms(*CALLS)
    share = units.share(min(op.held_ms / calls_ms, 1.0))
    kind = f" ({op.detail})" if op.detail not in (None, op.name) else ""
    result = finding(
        facts,
        KEY,
        f"The input pipeline runs Python{at} in another thread, the op {op.name}{kind}, and only "
        f"one thread at a time can run Python: TensorFlow's Python around the calls takes "
        f"{of_a_step(facts, calls_ms, wall)} while no replica runs an op, and for {share} of that "
        f"time the input runs.{most_of_python(facts)}",
        "Replace the generator, py_function or numpy_function with TensorFlow ops, or do its work "
        "once and cache() it: prefetch hides it from the step, but it holds the GIL, which the "
        "step needs, unless it only sleeps or reads.",
        per_step(facts, op.held_ms, wall),
        place=line.place if line else None,
        input_op=op.name,
        input_op_ms=op.held_ms,
    )
    if input_bound.waits_for_python(facts):
        advice = "The steps wait for the same Python: see that finding."
        result = replace(result, caused_by=input_bound.KEY, advice=advice)
    yield result


def beside_calls(facts: Facts) -> Cause | None:
    """The op that runs Python for most of the time in which calls hold up the step."""
    causes = facts.held_up.of_kind("input-python-ahead")
    calls_ms = facts.held_up.held_ms(*CALLS)
    return causes[0] if causes and causes[0].held_ms >= MOST_OF_CALLS * calls_ms else None


def without_input_ms(facts: Facts) -> float:
    """Time of the calls of a typical captured step, without the part that this rule reports."""
    op = beside_calls(facts)
    return facts.held_up.held_ms(*CALLS) - (op.held_ms if op else 0.0)
