"""Many small ops: to start them takes longer than to run them.

## What it does

Adds up the time in which the runtime executes a function and no replica runs a recorded op: 20 % of
a typical captured step or more. Each replica runs 300 ops or more, and half of them or more are of
the loop that is named, and 0.03 ms or less pass for each: longer gaps are waits for a core. Or the
graph has a loop whose ops are too short to be recorded. The ops of the loop that were recorded are
a part of its cost. Without a loop, names the line that made half of the ops or more.

## Why is this slow

TensorFlow's runtime takes some microseconds to start an op, on a GPU for each kernel as well. Ops
that run for less, such as those of a loop over the time steps of an RNN or over the examples of a
batch, spend more time waiting for their start than at work. A faster device does not help.

## What to do

Compile what a replica does, or the loop alone, with `tf.function(jit_compile=True)`: XLA makes a
few kernels of many ops. Let each iteration work on more: whole tensors instead of their rows
(`tf.vectorized_map`), and a Keras RNN with `unroll=True` if its sequences are short.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from strategy_profiles.analysis.account.op_time import line_of_loop
from strategy_profiles.analysis.advice.rules import tracing
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.errors import shortened
from strategy_profiles.run.event_parts import UNROLLS
from strategy_profiles.run.op_scopes import plain

KEY = "small-ops"
ROWS = ("loop/steps/idle", "loop/steps/compute")
NO_GAIN = "With fewer and larger ops, other ops would run than the recorded ones."
_ADVICE = (
    "Compile the function of these ops, without the reduction of gradients in it, with "
    "tf.function(jit_compile=True), so that XLA makes a few kernels of many ops, or let each op "
    "work on more: whole tensors, tf.vectorized_map, one layer or one table with offsets instead "
    "of many small ones"
)
_UNROLL = ", a Keras RNN with unroll=True"
_BRANCH = re.compile(r"cond(?:_\d+)?/(?:then|else)/")
"""Scope of the ops that a `tf.cond`, or an `if` on a tensor, runs."""
_IN_A_BRANCH = (
    "The loop is in a branch, which one replica may take and another not: take it every few steps, "
    "outside of the step, or divide its work among the replicas."
)
_MAP_FN = "map_fn("
_OF_MAP_FN = (
    "tf.map_fn() runs its function for one element after the other, in a loop of the graph: "
    "compute with the whole tensor at once (ops that broadcast, tf.gather, tf.sequence_mask, "
    "tf.where). XLA and tf.vectorized_map() do the same where they can convert the function."
)
_SCAN = "scan("
_OF_SCAN = (
    "tf.scan() runs its function for one step after the other, in a loop of the graph. Where a "
    "step only scales the one before and adds to it, as in a discounted sum, tf.math.cumsum() or "
    "a product with a triangular matrix computes all of them at once. Otherwise give each step "
    "more work, or compile the function that it is in with tf.function(jit_compile=True)."
)
LEAST_SHARE = 0.2
LEAST_SAID = 0.01
MOST_OF_A_NAME = 56


def find(facts: Facts) -> Iterator[Finding]:
    """The time between the ops, with the loop that runs most of them."""
    wall, held_ms = facts.breakdown.mean_ms("wall"), facts.held_up.held_ms("between-ops")
    if not wall or not facts.held_up.has_many_ops or held_ms / wall < LEAST_SHARE:
        return
    if facts.captures_are_unlike:
        return
    causes = facts.held_up.of_kind("between-ops")
    num_ops, loop = sum(cause.count for cause in causes), facts.held_up.loop or ""
    of_step = of_a_step(facts, held_ms, wall)
    named = loop_named(facts, loop) if loop else ""
    if num_ops:
        where = f", most of them in the loop {named}" if loop else ""
        sentence = (
            f"Each replica runs {num_ops:,.0f} ops in a step{where or _most_at(facts)}. For "
            f"{of_step}, no replica runs an op because the runtime has not started the next one."
        )
    else:
        sentence = (
            f"For {of_step}, TensorFlow's runtime executes ops that are too short to be recorded, "
            f"such as those of the loop {named}: starting each takes longer than running it."
        )
    ran_ms = _ran_ms(facts, loop)
    if ran_ms / wall >= LEAST_SAID:
        sentence += f" The loop's longer ops run for {of_a_step(facts, ran_ms, wall)}."
    advice = f"{_ADVICE}{'' if facts.lines_with(*UNROLLS) else _UNROLL}."
    at = (line_of_loop(facts.line_of, loop) or "").rpartition("/")[2]
    for text, of_text in ((_MAP_FN, _OF_MAP_FN), (_SCAN, _OF_SCAN)):
        if at in {line.place for line in facts.lines_with(text)}:
            advice = of_text
    if tracing.unrolled(facts):
        advice = f"{tracing.NOT_UNROLLED}: its graph has one iteration. {advice}"
    in_branch = of_branch(loop)
    yield finding(
        facts,
        KEY,
        sentence,
        f"{in_branch} Otherwise: {advice}" if in_branch else advice,
        per_step(facts, held_ms + ran_ms, wall),
        num_ops=num_ops or None,
        loop=loop or None,
        line=line_of_loop(facts.line_of, loop) if loop else None,
        held_ms=held_ms,
        ran_ms=ran_ms,
    )


def _most_at(facts: Facts) -> str:
    """`, most of those of the model made at train.py:12`; empty if no line makes so many."""
    fits = {line.place for line in facts.lines_with(".fit(")}
    lines = Counter(line for line in facts.line_of.values() if line.rpartition("/")[2] not in fits)
    if not lines:
        return ""
    line, number = lines.most_common(1)[0]
    of_model = "of those of the model " if fits else "of them "
    return (
        f", most {of_model}made at {line.rpartition('/')[2]}" if 2 * number > lines.total() else ""
    )


def of_branch(loop: str) -> str | None:
    """What to do about a loop of the graph that only some steps or replicas run."""
    return _IN_A_BRANCH if _BRANCH.search(loop) else None


def loop_named(facts: Facts, loop: str) -> str:
    """`at train.py:12 (rnn/while)`, or the name alone: the line made most ops of the loop."""
    name, line = shortened(plain(loop), MOST_OF_A_NAME), line_of_loop(facts.line_of, loop)
    return f"at {line.rpartition('/')[2]} ({name})" if line else f"`{name}`"


def _ran_ms(facts: Facts, loop: str) -> float:
    """How long a replica runs recorded ops of a loop, per typical captured step."""
    compute_ms = facts.breakdown.mean_ms("compute") or 0.0
    return compute_ms * sum(op.share for op in facts.ops if loop and op.loop == loop)
