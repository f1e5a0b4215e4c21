"""The step runs op by op, without a `tf.function`.

## What it does

Looks for captured steps without an op of a graph, of which calls into TensorFlow take half or more,
in a program that ran at least four kinds of ops as graphs of their own.

## Why is this slow

Every op is a call from Python, and replicas run in turn where a graph would run them side by side.
Nothing is fused or pruned.

## What to do

Put the whole step, `strategy.run` included, into a `tf.function`. In Keras, do not compile with
`run_eagerly=True`.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import RUNS_EAGERLY

KEY = "eager-step"
ROWS = ("loop/steps",)
NO_GAIN = "As a graph the step would run other ops than the recorded ones."
CALLS_SHARE = 0.5
_NOT_EAGERLY = "in Keras, do not compile with run_eagerly=True"


def find(facts: Facts) -> Iterator[Finding]:
    """A program whose step is no graph."""
    calls = facts.op_by_op
    if calls is None or not calls.wall_ms or calls.held_ms / calls.wall_ms < CALLS_SHARE:
        return
    at = f", most of them at {calls.place}" if calls.place else ""
    share, function = calls.held_ms / calls.wall_ms, calls.function
    place = function.place if function else calls.place
    advice = f"Put the whole step, strategy.run included, into a tf.function; {_NOT_EAGERLY}."
    if function is not None:
        at = f", in `{function.name}` ({function.place})"
        advice = f"Put @tf.function on `{function.name}`, which is the whole step; {_NOT_EAGERLY}."
    asked, asks_at = facts.lines_with(*RUNS_EAGERLY), facts.said_at(*RUNS_EAGERLY)
    if asks_at:
        place, at = asked[0].place, f"{at}. The program asks for single ops{asks_at}"
        advice = f"Take out what asks for single ops{asks_at}, and leave the step a tf.function."
    yield finding(
        facts,
        KEY,
        f"The step runs op by op, not as a graph: of a captured step of "
        f"{units.milliseconds(calls.wall_ms)}, {units.milliseconds(calls.held_ms)} "
        f"({units.share(share)}) pass in calls into TensorFlow{at}.",
        advice,
        per_step(facts, calls.held_ms, calls.wall_ms),
        place=place,
        held_ms=calls.held_ms,
        num_ops=calls.num_ops,
    )
