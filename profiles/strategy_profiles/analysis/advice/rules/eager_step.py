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


def find(facts: Facts) -> Iterator[Finding]:
    """A program whose step is no graph."""
    calls = facts.op_by_op
    if calls is None or not calls.wall_ms or calls.held_ms / calls.wall_ms < CALLS_SHARE:
        return
    at = f", most of them at {calls.place}" if calls.place else ""
    share, function = calls.held_ms / calls.wall_ms, calls.function
    put = "Put the whole step, strategy.run included, into a tf.function"
    if function is not None:
        at = f", in `{function.name}` ({function.place})"
        put = f"Put @tf.function on `{function.name}`, which is the whole step"
    yield finding(
        facts,
        KEY,
        f"The step runs op by op, not as a graph: of a captured step of "
        f"{units.milliseconds(calls.wall_ms)}, {units.milliseconds(calls.held_ms)} "
        f"({units.share(share)}) pass in calls into TensorFlow{at}.",
        f"{put}; {_not_eagerly(facts)}.",
        per_step(facts, calls.held_ms, calls.wall_ms),
        place=function.place if function else calls.place,
        held_ms=calls.held_ms,
        num_ops=calls.num_ops,
    )


def _not_eagerly(facts: Facts) -> str:
    at = facts.said_at(*RUNS_EAGERLY)
    if at:
        return f"the program asks for single ops{at}: take that out"
    return "in Keras, do not compile with run_eagerly=True"
