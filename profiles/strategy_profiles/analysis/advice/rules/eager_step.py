"""The step runs op by op, without a `tf.function`.

## What it does

Looks for captured steps without an op of a graph, of which calls into TensorFlow take half or more,
in a program that ran at least four kinds of ops as graphs of their own. Of steps that are a graph,
for ops that Python runs one by one beside it, by the samples of the training thread: 10 % of the
steps or more.

## Why is this slow

Every op is a call from Python, and replicas run in turn where a graph would run them side by side.
Nothing is fused or pruned.

## What to do

Put the whole step, `strategy.run`, optimizer and metrics included, into a `tf.function`. In Keras,
do not compile with `run_eagerly=True`.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.line_advice import ALONE
from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps, per_step
from strategy_profiles.analysis.outside_function import OutsideFunction
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import RUNS_EAGERLY

KEY = "eager-step"
ROWS = ("loop/steps/idle", "loop/steps")
NO_GAIN = "As a graph the step would run other ops than the recorded ones."
CALLS_SHARE, OUTSIDE_SHARE = 0.5, 0.1
_NOT_EAGERLY = "in Keras, do not compile with run_eagerly=True"


def find(facts: Facts) -> Iterator[Finding]:
    """A program whose step is no graph, or runs ops beside one."""
    calls = facts.op_by_op
    if calls is None:
        yield from _outside_function(facts)
        return
    if not calls.wall_ms or calls.held_ms / calls.wall_ms < CALLS_SHARE:
        return
    at = f", most of them at {calls.place}" if calls.place else ""
    share, function = calls.held_ms / calls.wall_ms, calls.function
    place = function.place if function else calls.place
    advice = f"Put the whole step, strategy.run included, into a tf.function; {_NOT_EAGERLY}."
    if function is not None:
        at = f", in `{function.name}` ({function.place})"
        advice = f"Put @tf.function on `{function.name}`, which is the whole step; {_NOT_EAGERLY}."
    eager_lines, asks_at = facts.lines_with(*RUNS_EAGERLY), facts.said_at(*RUNS_EAGERLY)
    if asks_at:
        place, at = eager_lines[0].place, f"{at}. The program asks for single ops{asks_at}"
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


def single_ops(facts: Facts) -> OutsideFunction | None:
    """The ops that Python runs one by one beside the function of the step. Ops that run Python in
    the graph have a finding of their own."""
    is_graph = facts.op_by_op is None and facts.breakdown.is_in_sync
    if not is_graph or facts.held_up.of_kind("python-op"):
        return None
    ops = facts.read_single_ops()
    return ops if ops is not None and ops.share >= OUTSIDE_SHARE else None


def _outside_function(facts: Facts) -> Iterator[Finding]:
    steps, ops = facts.account.row("loop/steps"), single_ops(facts)
    if steps is None or ops is None:
        return
    line = ops.line
    work = facts.read_line_work(line.file, line.line)
    own = f", or put @tf.function on `{work.function}`, which calls it" if work.function else ""
    alone = f" {ALONE}" if work.num_ops == 1 else ""
    yield finding(
        facts,
        KEY,
        "Outside of the tf.function of the step, Python runs ops one by one: "
        f"{units.share(ops.share)} of the steps, most of it at {line.place} (`{line.text}`).",
        f"Make it a part of the tf.function of the step{own}.{alone}",
        over_all_steps(facts, ops.share * steps.total_ms, "sampled"),
        place=line.place,
    )
