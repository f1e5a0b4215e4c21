"""The program waits for the workers of its coordinator.

## What it does

Takes the time in which the program is in `ClusterCoordinator.join`, waits for the result of a step
that it fetches, or sleeps until all are done: 5 % of the loop or more.

## Why is this slow

The steps are done there, in processes that serve and record nothing. So what each of them waits for
is not known. The coordinator traces their function, so variables that each step reads as a whole
are: the finding names them if they have 1 MB together. How many steps it waits for at a time, and
how long one takes, is known of each run.

## What to do

Four causes are usual. The program waits after every few steps, and each time for the slowest
worker. The function that makes their dataset does its work one by one, or again in
each pass. Each step moves a variable, or a gradient, that is as large as a table, and needs a few
rows of it. Or a step is so small that its messages to the servers take longer than its ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from strategy_profiles.analysis.account.row import Row
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
OF_INPUT = (
    "cache(), num_parallel_calls and prefetch() in the function that makes their dataset; "
    "tf.nn.embedding_lookup instead of reading all of a large variable, also in a penalty"
)
CALL_JOIN = "Call join(), which returns as soon as they are."
OF_SMALL = "a larger batch, or several steps in one scheduled function (a loop over tf.range)"
OF_READS = (
    "If a step needs only some rows of it, gather these first (tf.nn.embedding_lookup of the "
    "variable) and compute with them, also in a penalty: then only rows are moved. Otherwise do "
    "more in each step: a larger batch."
)
OF_READS_IN_LOOP = (
    "Read it once, before the loop (`value = tf.identity(variable)`), and use that tensor in the "
    "loop: each turn otherwise asks the parameter server for it again."
)
ALSO = 0.1
"""Size of another variable, relative to the largest, from which the sentence counts it."""
LARGE_BYTES = 1_000_000
"""Of all variables that a step reads as a whole. A program whose steps read 15.4 MB and send as
much back did one every 42 ms on two cores, so 1 MB is about 1.4 ms of a step."""


FEWEST_OF_A_JOIN = 10
"""Steps of each worker between two joins; with fewer, the last of them costs a large part."""
PARTITIONERS = ("SizePartitioner(", "FixedShardsPartitioner(")
"""What the line says that makes a partitioner."""
SHORT_MS = 20.0
"""Time of a worker for a step, below which messages take much of it: a step that multiplied 32 rows
by two small matrices took 5.6 ms on two cores."""
SHORT_OF_SHARDS_MS = 100.0
"""The same with variables in shards: a step with 64 small ones on two servers took 21 ms."""


def find(facts: Facts) -> Iterator[Finding]:
    reads = [read for read in facts.whole_reads if read.in_loop] or facts.whole_reads
    is_large = reads[0].in_loop if reads else False
    is_large = is_large or sum(read.bytes for read in reads) >= LARGE_BYTES
    rows = rows_anywhere(facts, "workers")
    in_turns = any(workers_in_turns.find(facts))  # it explains the wait
    if not rows or (in_turns and not is_large):
        return
    share = units.share(sum(facts.account.share(row) for row in rows))
    waits = f"The program waits for the workers of its coordinator, for {share} of the loop"
    yield finding(
        facts,
        KEY,
        f"{waits}. {_reads_text(reads)}"
        if is_large
        else f"{waits}{at_line(facts, *rows)}.{_of_steps(facts)}",
        _of_reads(reads) if is_large else _advice(facts, main_line(facts, *rows)),
        cost_of(facts, *rows),
        place=(is_large and reads[0].place) or main_line(facts, *rows).place,
        read_bytes=sum(read.bytes for read in reads) or None,
    )


def _of_reads(reads: Sequence[WholeRead]) -> str:
    return OF_READS_IN_LOOP if reads[0].in_loop else OF_READS


def _of_steps(facts: Facts) -> str:
    num_joined = _steps_of_a_join(facts)
    every = "each step" if num_joined == 1 else f"every {num_joined:,} steps"
    each = f"a step takes a worker {units.milliseconds(_worker_ms(facts))}"
    return f" It waits after {every}; {each}, its messages included."


def _advice(facts: Facts, line: Row) -> str:
    """Larger steps and fewer waits where these are small and few; else what they may wait for."""
    few, joins = _steps_of_a_join(facts) < FEWEST_OF_A_JOIN * facts.segment.num_workers, ""
    if few:
        joins = "Schedule the steps of a whole epoch, then call join() once."
    if "sleep(" in (line.text or ""):
        return f"Workers that are done wait until the program looks again. {joins or CALL_JOIN}"
    if _worker_ms(facts) < SHORT_OF_SHARDS_MS and (shards := _of_shards(facts)):
        more = "A larger batch needs fewer steps, each with as many messages."
        return f"{shards}{more} {joins}".strip()
    if _worker_ms(facts) < SHORT_MS:
        return (
            "Do more in each scheduled step, as its messages take a large part of so short a time: "
            f"{OF_SMALL}. {joins}"
        ).strip()
    return (
        f"{joins} The workers' processes record nothing, so try one at a time: {OF_INPUT}; "
        f"{OF_SMALL}."
    ).strip()


def _of_shards(facts: Facts) -> str:
    """What to do about variables that are cut into pieces; empty if the program cuts none."""
    if not (at := facts.said_at(*PARTITIONERS)):
        return ""
    return (
        f"The variables are cut into shards{at}, and a step exchanges messages with each shard "
        "that it uses: make fewer and larger ones (min_shard_bytes of 256 kB or more, or no more "
        "shards than servers). "
    )


def _steps_of_a_join(facts: Facts) -> int:
    """The median. Steps between two joins are recorded with the same part of their time."""
    is_new = np.diff(facts.steps.wall_ms, prepend=-1.0) != 0.0
    return int(np.median(np.diff(np.append(np.flatnonzero(is_new), len(is_new)))))


def _worker_ms(facts: Facts) -> float:
    """Time of a worker for one step: as many of them work at a time."""
    return (facts.steps.median_ms or 0.0) * min(facts.segment.num_workers, _steps_of_a_join(facts))


def _reads_text(reads: Sequence[WholeRead]) -> str:
    """`Each of their steps reads all of `table` (12.8 MB) from the parameter servers ...`."""
    largest = reads[0]
    num_others = sum(read.bytes >= ALSO * largest.bytes for read in reads[1:])
    at = f" at {largest.place}" if largest.place else ""
    back = " and sends as much back" if largest.is_updated and not largest.in_loop else ""
    others = f", and all of {units.counted(num_others, 'other variable')}" if num_others else ""
    who = "Each turn of a loop in their steps" if largest.in_loop else "Each of their steps"
    return (
        f"{who} reads all of `{largest.name}` ({units.size(largest.bytes)}) from a parameter "
        f"server{at}{back}{others}."
    )
