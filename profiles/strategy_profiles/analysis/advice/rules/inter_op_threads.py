"""A process has fewer threads to run ops on than replicas.

## What it does

Compares the inter-op threads that the program has set, by
`tf.config.threading.set_inter_op_parallelism_threads` or `TF_NUM_INTEROP_THREADS`, with the
replicas of a process and with the cores of the machine. Says for how much of the time in which any
replica computes two or more do. The cost is the replicas' wait for each other, or for the latest of
them if that is longer; unknown if a replica is late because its own work takes longer.

## Why is this slow

TensorFlow runs the ops of all replicas of a process on these threads. On one thread the replicas
run one after the other, and the first ones wait in each collective for the last.

## What to do

Do not set the number: TensorFlow takes one thread for each core. Or set at least one for each
replica. To limit the cores that the program uses, use `taskset` or a container.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.few_threads import KEY, few_threads
from strategy_profiles.analysis.advice.late_because import at_least_its_lateness
from strategy_profiles.analysis.advice.rules.straggler import works_longer
from strategy_profiles.analysis.cost import Cost
from strategy_profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_profiles.reporting import units

NEVER = 0.001
NO_GAIN = "With more threads ops would run at other times, and for longer where they share cores."


def find(facts: Facts) -> Iterator[Finding]:
    """How many threads, for how many replicas, and whether these compute at the same time."""
    few = few_threads(facts)
    if few is None:
        return
    share = facts.side_by_side
    threads = units.counted(few.num_threads, "thread")
    runs = (
        "so replicas run one after the other"
        if few.num_threads == 1
        else f"so no more than {few.num_threads} of them run ops at the same time"
    )
    yield finding(
        facts,
        KEY,
        f"The program has set {threads} for TensorFlow to run ops on, and has {few.num_replicas} "
        f"replicas, {runs}.{_overlap(share)}",
        "Remove tf.config.threading.set_inter_op_parallelism_threads and TF_NUM_INTEROP_THREADS, "
        f"or set at least {few.num_replicas}.",
        _cost(facts),
        num_threads=few.num_threads,
        num_replicas=few.num_replicas,
        computing_together=share,
    )


def _overlap(share: float | None) -> str:
    if share is None:
        return ""
    if share < NEVER:
        return " In typical captured steps, no two compute at the same time."
    return (
        f" In typical captured steps, two or more compute in {units.share(share)} of the time in "
        "which any does."
    )


def _cost(facts: Facts) -> Cost | None:
    """The wait of the replicas, which is derived to be due to the threads."""
    wall, wait = (facts.breakdown.mean_ms(name) for name in ("wall", "wait"))
    late = facts.stragglers.late
    if not wall or wait is None or any(works_longer(facts, each) for each in late):
        return None
    cost = per_step(facts, wait, wall, "derived")
    return at_least_its_lateness(facts, cost, late[0]) if late else cost
