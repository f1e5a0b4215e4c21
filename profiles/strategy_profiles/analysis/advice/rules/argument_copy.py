"""Arrays of the program are copied into tensors in each step.

## What it does

Samples of a captured step say when TensorFlow makes tensors of what the program passes to a
`tf.function`: 10 % of a typical captured step or more, while no replica runs an op. Also takes the
time of a line between steps that calls `tf.constant` or `tf.convert_to_tensor`, and that of samples
in steps, outside of the `tf.function`, in which an op makes a tensor of an array: 10 % of the
steps or more.

## Why is this slow

An argument that is a NumPy array becomes a tensor at each call, which copies all of it, also if the
step uses a few rows. Captured variables and tensors are not copied.

## What to do

Make the tensor once, before the loop: `tf.constant`, or a `tf.Variable(..., trainable=False)` in
`strategy.scope()`, which each replica has a copy of. Or let a `tf.data.Dataset` make the batches
and pass only these.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.rows import (
    at_line,
    cost_of,
    how_long,
    large_parts,
    main_line,
)
from strategy_profiles.analysis.advice.rules.python_op import HELD_SHARE
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    over_all_steps,
    per_step,
)
from strategy_profiles.analysis.outside_function import MAKE_TENSORS, OutsideFunction
from strategy_profiles.reporting import units

KEY = "argument-copy"
ROWS = ("loop/steps/idle", "loop/between/own-lines")
SHARE = 0.1
"""Of the steps: copies outside of the step's function that take less have no finding."""
_ADVICE = (
    "If few of its rows are used, take these with NumPy first. Of an array that does not change, "
    "make the tensor once, before the loop (tf.constant, or a tf.Variable(trainable=False) in "
    "strategy.scope()). Or let a tf.data.Dataset make the batches, and pass only these to the step."
)
NO_GAIN = "Python around the calls of a step is not an op of the replayed step."


def makes_tensor(line: Row) -> bool:
    """Whether a line of the program makes a tensor, which copies an array or a list."""
    return line.call in MAKE_TENSORS


def outside_function(facts: Facts) -> OutsideFunction | None:
    """The copies that calls in steps make, outside of the function of the step."""
    copies = facts.read_array_copies()
    return copies if copies is not None and copies.share >= SHARE else None


def find(facts: Facts) -> Iterator[Finding]:
    for lines in large_parts(facts, "own-lines", makes_tensor):
        yield finding(
            facts,
            KEY,
            "Between steps the program copies an array or a list into a tensor: "
            f"{how_long(facts, *lines)}{at_line(facts, *lines)}.",
            _ADVICE,
            cost_of(facts, *lines),
            place=main_line(facts, *lines).place,
        )
    steps, copies = facts.account.row("loop/steps"), outside_function(facts)
    if steps is not None and copies is not None:
        place, text = copies.line.place, copies.line.text
        yield finding(
            facts,
            KEY,
            "Outside of the tf.function of the step, a call copies an array or a list into a "
            f"tensor at {place} (`{text}`): {units.share(copies.share)} of the steps.",
            _ADVICE,
            over_all_steps(facts, copies.share * steps.total_ms, "sampled"),
            place=place,
        )
    wall, held_ms = facts.breakdown.mean_ms("wall"), facts.held_up.held_ms("argument")
    if not wall or facts.captures_are_unlike or held_ms / wall < HELD_SHARE:
        return
    causes = facts.held_up.of_kind("argument")
    if max(cause.num_steps for cause in causes) <= facts.held_up.num_steps / 2:
        return  # the thread lost its core there, once: each step would copy the array
    place, largest = causes[0].name, facts.placed.largest_argument
    which = f" The largest is {largest}." if largest else ""
    yield finding(
        facts,
        KEY,
        f"The call of the step at {place} makes tensors of arrays that the program passes to it: "
        f"{of_a_step(facts, held_ms, wall)}.{which}",
        _ADVICE,
        per_step(facts, held_ms, wall),
        place=place,
        bytes=largest.bytes if largest else None,
    )
