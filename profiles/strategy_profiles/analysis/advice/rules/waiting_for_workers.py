"""The program waits for the workers of its coordinator.

## What it does

Takes the time in which the program is in `ClusterCoordinator.join`, or waits for the result of a
step that it fetches: 5 % of the loop or more.

## Why is this slow

The steps are done there, in processes that serve and record nothing. So what each of them waits for
is not known. The coordinator traces their function, so variables that each step reads as a whole
are: the finding names them if they have 1 MB together.

## What to do

Three causes are usual. The function that makes their dataset does its work one by one, or again in
each pass. Each step moves a variable, or a gradient, that is as large as a table, and needs a few
rows of it. Or a step is so small that its messages to the servers take longer than its ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strategy_profiles.analysis.advice.rows import (
    anywhere,
    at_line,
    cost_of,
    main_line,
    rows_anywhere,
)
from strategy_profiles.analysis.advice.rules import workers_in_turns
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import WholeRead

KEY = "waiting-for-workers"
ROWS = anywhere("workers")
NO_GAIN = "Steps of workers are not in the recorded steps."
ADVICE = (
    "Their processes record nothing, so try one at a time: cache(), num_parallel_calls and "
    "prefetch() in the function that makes their dataset; tf.nn.embedding_lookup instead of "
    "reading all of a large variable, also in a penalty; a larger batch, or several steps in one "
    "scheduled function."
)
OF_READS = (
    "If a step needs only some rows of it, gather these first (tf.nn.embedding_lookup of the "
    "variable) and compute with them, also in a penalty: then only rows are moved. Otherwise do "
    "more in each step: a larger batch."
)
ALSO = 0.1
"""Size of another variable, relative to the largest, from which the sentence counts it."""
LARGE_BYTES = 1_000_000
"""Of all variables that a step reads as a whole. A program whose steps read 15.4 MB and send as
much back did one every 42 ms on two cores, so 1 MB is about 1.4 ms of a step."""


def find(facts: Facts) -> Iterator[Finding]:
    reads = facts.whole_reads
    is_large = sum(read.bytes for read in reads) >= LARGE_BYTES
    rows = rows_anywhere(facts, "workers")
    in_turns = any(workers_in_turns.find(facts))  # it explains the wait
    if not rows or (in_turns and not is_large):
        return
    share = units.share(sum(facts.account.share(row) for row in rows))
    waits = f"The program waits for the workers of its coordinator, for {share} of the loop"
    yield finding(
        facts,
        KEY,
        f"{waits}. {_said(reads)}" if is_large else f"{waits}{at_line(facts, *rows)}.",
        OF_READS if is_large else ADVICE,
        cost_of(facts, *rows),
        place=(is_large and reads[0].place) or main_line(facts, *rows).place,
        read_bytes=sum(read.bytes for read in reads) or None,
    )


def _said(reads: Sequence[WholeRead]) -> str:
    """`Each of their steps reads all of `table` (12.8 MB) from the parameter servers ...`."""
    largest = reads[0]
    num_others = sum(read.bytes >= ALSO * largest.bytes for read in reads[1:])
    at = f" at {largest.place}" if largest.place else ""
    back = " and sends as much back" if largest.is_updated else ""
    others = f", and all of {units.counted(num_others, 'other variable')}" if num_others else ""
    return (
        f"Each of their steps reads all of `{largest.name}` ({units.size(largest.bytes)}) from a "
        f"parameter server{at}{back}{others}."
    )
