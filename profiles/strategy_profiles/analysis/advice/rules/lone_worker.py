"""One worker of a `ClusterCoordinator` has a step while the others have none.

## What it does

Samples of the coordinator's stack say which workers do a step. Looks for one worker that is the
only one to do a step for 10 % of the steps' time or more, and twice as long as all others are.

## Why is this slow

`join` returns once the last worker has done its step. If the program schedules a step for each
worker and then calls `join`, every round takes as long as the slowest worker, and the others wait.

## What to do

Look at what that worker does more: its part of the data, where it reads it from, its cores. Or
schedule many steps before each `join`: then the others do more of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.reporting import units

KEY = "lone-worker"
ROWS = ("loop/steps",)
NO_GAIN = "Workers that work at the same time are not in the recorded steps."
SHARE = 0.1
"""Of the steps' time: a worker that is alone for less has no finding."""
TIMES = 2.0
"""How many times as long as the others together it has to be alone: else they take turns."""


def find(facts: Facts) -> Iterator[Finding]:
    alone, steps = facts.read_lone_worker(), facts.account.row("loop/steps")
    if alone is None or steps is None or alone.alone_ms < SHARE * steps.total_ms:
        return
    if facts.segment.num_workers < 2:
        return  # no other worker waits for it
    if alone.alone_ms < TIMES * alone.others_ms:
        return
    at = f" at {alone.line.place} (`{alone.line.text}`)" if alone.line else ""
    share = units.share(min(alone.alone_ms / steps.total_ms, 1.0))
    yield finding(
        facts,
        KEY,
        f"Worker {alone.worker} keeps the others waiting{at}: for {share} of the steps' time it "
        "alone does a step.",
        "Look at what its steps do more than those of the others: its part of the data, where it "
        "reads it from, its cores. Or schedule many steps before each join(), so that the other "
        "workers do more of them.",
        over_all_steps(facts, alone.alone_ms, "sampled"),
        place=alone.line.place if alone.line else None,
        worker=alone.worker,
    )
