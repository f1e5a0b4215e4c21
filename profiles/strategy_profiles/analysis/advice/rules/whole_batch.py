"""Each replica trains on the whole batch.

## What it does

Says so if the recorder saw that a step's batch is not divided among the replicas of the process: at
Keras's `train_on_batch`, or at `strategy.run` with tensors that are not of a distributed dataset.
The cost is the part of the steps that a divided batch would save.

## Why is this slow

All replicas compute the same, so more replicas make nothing faster.

## What to do

Call `fit`, or take the batches from `strategy.experimental_distribute_dataset`, which divides them.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.run.events import WHOLE_BATCH_EACH

KEY = "whole-batch"
ROWS = ("loop/steps",)
NO_GAIN = "Replicas with a part of the batch are not in the recorded steps."


def find(facts: Facts) -> Iterator[Finding]:
    place, num_replicas = facts.noted.get(WHOLE_BATCH_EACH), facts.segment.num_replicas
    steps = facts.account.row("loop/steps")
    if place is None or num_replicas < 2 or steps is None:
        return
    num_here = num_replicas // max(1, facts.segment.num_workers)
    running = facts.account.row("loop/first/running")
    place = (running.place if running else None) or place  # where the step is called with its batch
    yield finding(
        facts,
        KEY,
        f"Each of {num_here} replicas trains on the whole batch: it is not divided at {place}.",
        "Call fit(), or take the batches from strategy.experimental_distribute_dataset(), which "
        "divides them.",
        over_all_steps(facts, steps.total_ms * (1 - 1 / num_here), "derived"),
        place=place,
    )
