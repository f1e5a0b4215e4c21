"""XLA compiles the step again and again.

## What it does

Looks for captured steps after the first that spend most of their time in XLA's compiler, and for
others that are as long: two or more, and 5 % of the loop.

## Why is this slow

XLA compiles a function for each shape of its arguments, for seconds each time. An `input_signature`
with unknown sizes, or `reduce_retracing`, keeps TensorFlow from tracing again, not XLA.

## What to do

Give the compiled function few shapes: pad batches to a few lengths, drop the last, smaller batch,
or leave this function to TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.rows import at_line, cost_of, how_long, large_rows
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.reporting import units

KEY = "recompiling"
ROWS = ("loop/steps/compiling",)
NO_GAIN = "Steps that compile are left out of a replay."
FEWEST = 2
ADVICE = (
    "Give the compiled function few shapes: pad the examples of a batch to one of a few lengths "
    "(padded_batch, bucket_by_sequence_length with pad_to_bucket_boundary), and drop the last, "
    "smaller batch (drop_remainder=True). Else do without jit_compile for it."
)


def find(facts: Facts) -> Iterator[Finding]:
    recompiled = facts.steps.recompiling
    for row in large_rows(facts, "compiling", "loop/steps"):
        if recompiled is None or (row.num_times or 0) < FEWEST:
            continue
        name = f"`{recompiled.function}`" if recompiled.function else "a function of the step"
        steps = units.counted(recompiled.num_captured, "captured step")
        yield finding(
            facts,
            KEY,
            f"XLA compiles {name} again, for {how_long(facts, row)}{at_line(facts, row)}: it does "
            f"so for each new shape of a batch, as in {steps}.",
            ADVICE,
            cost_of(facts, row),
            place=row.place,
        )
