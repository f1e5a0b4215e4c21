"""The program waits for the workers of its coordinator.

## What it does

Takes the time in which the program is in `ClusterCoordinator.join`, or waits for the result of a
step that it fetches: 5 % of the loop or more.

## Why is this slow

The steps are done there, in processes that serve and record nothing. So what each of them waits for
is not known.

## What to do

Three causes are usual. The function that makes their dataset does its work one by one, or again in
each pass. Each step moves a variable, or a gradient, that is as large as a table, and needs a few
rows of it. Or a step is so small that its messages to the servers take longer than its ops.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.rows import at_line, cost_of, large_rows, main_line
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.reporting import units

KEY = "waiting-for-workers"
ROWS = ("loop/steps/workers", "loop/between/workers")
NO_GAIN = "Steps of workers are not in the recorded steps."
ADVICE = (
    "Their processes record nothing, so try one at a time: cache(), num_parallel_calls and "
    "prefetch() in the function that makes their dataset; tf.nn.embedding_lookup instead of "
    "reading all of a large variable, also in a penalty; a larger batch, or several steps in one "
    "scheduled function."
)


def find(facts: Facts) -> Iterator[Finding]:
    parents = ("loop/steps", "loop/between")
    for row in (row for parent in parents for row in large_rows(facts, "workers", parent)):
        share = units.share(facts.account.share(row))
        yield finding(
            facts,
            KEY,
            f"The program waits for the workers of its coordinator, for {share} of the loop"
            f"{at_line(facts, row)}.",
            ADVICE,
            cost_of(facts, row),
            place=main_line(facts, row).place,
        )
