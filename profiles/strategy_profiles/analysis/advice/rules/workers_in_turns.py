"""One worker works at a time, because the coordinator waits for each step.

## What it does

Says so if the recorder saw a `ClusterCoordinator` whose program fetches the result of each step
before it schedules the next one, at the line of the `fetch`. Also if samples of the coordinator's
stack find one worker alone at a step for 80 % of the steps' time or more, and now this one, now
that: then the program calls `join` after each step. The cost is the part of the steps that workers
at the same time would save.

## Why is this slow

`schedule` hands a step to any worker and returns at once; `fetch` waits for its result, `join` for
those of all steps. With one of them after each `schedule`, there is never more than one step to do.

## What to do

Schedule many steps, then call `join` once; fetch results after that, or every few hundred steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.rules.lone_worker import TIMES
from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.run.events import FETCHED_EACH

KEY = "workers-in-turns"
ROWS = ("loop/steps",)
NO_GAIN = "Workers that work at the same time are not in the recorded steps."
ALONE = 0.8
"""Share of the steps' time in which one worker alone does a step, from which on they take turns."""


def find(facts: Facts) -> Iterator[Finding]:
    num_workers, steps = facts.segment.num_workers, facts.account.row("loop/steps")
    if num_workers < 2 or steps is None:
        return
    fetched, joined = facts.noted.get(FETCHED_EACH), _joined_each(facts, steps.total_ms)
    place = fetched or joined
    if place is None:
        return
    waits = f"for the result of each step at {place}" if fetched else f"at {place} for each step"
    yield finding(
        facts,
        KEY,
        f"One of {num_workers} workers works at a time: the program waits {waits} before it "
        "schedules the next one.",
        "Schedule many steps, then call join() once; fetch results after that.",
        over_all_steps(facts, steps.total_ms * (1 - 1 / num_workers), "derived"),
        place=place,
    )


def _joined_each(facts: Facts, steps_ms: float) -> str | None:
    """The line at which the program waits for one worker at a time; None if it does not."""
    alone = facts.read_lone_worker()
    if alone is None or alone.line is None or alone.alone_ms >= TIMES * alone.others_ms:
        return None
    is_one = alone.alone_ms + alone.others_ms >= ALONE * steps_ms
    return alone.line.place if is_one else None
