"""One worker works at a time, because the coordinator waits for each step.

## What it does

Says so if the recorder saw a `ClusterCoordinator` whose program fetches the result of each step
before it schedules the next one, at the line of the `fetch`. The cost is the part of the steps that
workers at the same time would save.

## Why is this slow

`schedule` hands a step to any worker and returns at once; `fetch` waits for its result. With a
`fetch` after each `schedule`, there is never more than one step to do.

## What to do

Schedule many steps, then call `join` once; fetch results after that, or every few hundred steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.run.events import FETCHED_EACH

KEY = "workers-in-turns"
ROWS = ("loop/steps",)
NO_GAIN = "Workers that work at the same time are not in the recorded steps."


def find(facts: Facts) -> Iterator[Finding]:
    place, num_workers = facts.noted.get(FETCHED_EACH), facts.segment.num_workers
    steps = facts.account.row("loop/steps")
    if place is None or num_workers < 2 or steps is None:
        return
    yield finding(
        facts,
        KEY,
        f"One of {num_workers} workers works at a time: the program waits for the result of each "
        f"step at {place} before it schedules the next one.",
        "Schedule many steps, then call join() once; fetch results after that.",
        over_all_steps(facts, steps.total_ms * (1 - 1 / num_workers), "derived"),
        place=place,
    )
