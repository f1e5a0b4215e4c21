"""The program does something else between its steps.

## What it does

Compares the median time from the end of a step to the start of the next with the median step: a
quarter of both together or more, and at least 1 ms. Or a quarter of the gaps or more are short, but
after some steps, three or more, they are five times as long, and these take 15 % of the time from
step to step or more, as saving every tenth step does. Names the line that runs for most of it, if
such steps were captured. Says so if the gaps grow: the median of each quarter of the run is longer
than that of the one before, and the last twice the first. Gaps before steps that trace, and gaps in
which a capture window begins or ends, are left out.

## Why is this slow

No replica has anything to do until the next step begins, and no step time includes this.

## What to do

Do it every few steps, or in another thread: callbacks, a metric's `result`, `predict`, checkpoints,
logs, plots. If the gaps grow, each step works on all that the steps before it left, such as a list
of losses: keep a running sum or a metric instead. If the line makes an iterator for each step,
make one before the loop.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from strategy_lab.profiles.analysis.advice.place import place
from strategy_lab.profiles.analysis.cost import Cost
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_lab.profiles.reporting import units

KEY = "between-steps"
DO_IT_LESS_OFTEN = (
    "Do it every few steps or in another thread: callbacks, a metric's result(), predict(), "
    "checkpoints, logs."
)
MAKE_ONE_ITERATOR = (
    "If the line makes an iterator for each step, make one before the loop, or write `for batch in "
    "dataset`: each new one starts the input pipeline again, and fills its buffers."
)
NO_GAIN = "What runs between the steps is not an op of the replayed step."
BETWEEN_SHARE = 0.25
SHORTEST_MS = 1.0
"""A loop around a `tf.function` and Keras's own callbacks take less."""
LONG_SHARE = 0.15
LONG_TIMES = 5.0
FEWEST_LONG, FEWEST_GAPS = 3, 20
GROWTH_TIMES = 2.0
"""The last quarter of the gaps over the first, at least, for gaps that grow."""


def find(facts: Facts) -> Iterator[Finding]:
    """A usual gap that is a large part of the loop; else some long ones that are."""
    gap_ms, step_ms = facts.between.median_ms, facts.steps.median_ms
    if not facts.breakdown.is_in_sync or gap_ms is None or not step_ms:
        return
    share = gap_ms / (gap_ms + step_ms)
    # If every second step is followed by a long gap, the median is a length that no gap has.
    short_ms = float(np.quantile(facts.between.gaps_ms, 0.25))
    if LONG_TIMES * short_ms < gap_ms:
        in_some = tuple(_after_some_steps(facts, short_ms, step_ms))
        if in_some:
            yield from in_some
            return
    if gap_ms < SHORTEST_MS or share < BETWEEN_SHARE:
        yield from _after_some_steps(facts, gap_ms, step_ms)
        return
    whole = gap_ms / (gap_ms + step_ms + _epoch_ends_ms(facts))
    grown = _growth(facts)
    grows, advice = "", ""
    if grown:
        first, last = map(units.milliseconds, grown)
        grows = f" It grows: {first} in the first quarter of the steps, {last} in the last."
        advice = (
            " Look for what each step adds to, such as a list of losses, and keep a running sum or "
            "a metric instead."
        )
    yield finding(
        facts,
        KEY,
        f"Between two steps the program does something else for {units.milliseconds(gap_ms)} "
        f"(median), {units.share(whole)} of the time from step to step{_at(facts)}. Step times do "
        f"not include it.{grows}",
        f"{MAKE_ONE_ITERATOR if _makes_iterator(facts) else DO_IT_LESS_OFTEN}{advice}",
        _cost(facts, gap_ms, step_ms, whole),
        median_ms=gap_ms,
        grows_ms=list(grown) if grown else None,
        place=_place(facts),
    )


def _growth(facts: Facts) -> tuple[float, float] | None:
    """Median gap of the first and of the last quarter; None if the gaps do not grow."""
    gaps_ms = facts.between.gaps_ms
    if len(gaps_ms) < FEWEST_GAPS:
        return None
    quarters = [float(np.median(part)) for part in np.array_split(gaps_ms, 4)]
    # One jump, such as another program that starts, is no growth: each quarter must be longer.
    is_longer = all(after > before for before, after in itertools.pairwise(quarters))
    if not is_longer or quarters[-1] < GROWTH_TIMES * quarters[0]:
        return None
    return quarters[0], quarters[-1]


def _after_some_steps(facts: Facts, usual_ms: float, step_ms: float) -> Iterator[Finding]:
    gaps_ms = facts.between.gaps_ms
    long_ms = gaps_ms[gaps_ms >= max(SHORTEST_MS, LONG_TIMES * usual_ms)]
    if len(long_ms) < FEWEST_LONG or len(gaps_ms) < FEWEST_GAPS:
        return
    share = float(long_ms.sum() / (gaps_ms.sum() + step_ms * len(gaps_ms)))
    if share < LONG_SHARE:
        return
    loop_ms = gaps_ms.sum() + (step_ms + _epoch_ends_ms(facts)) * len(gaps_ms)
    whole = float(long_ms.sum() / loop_ms)
    median_ms = float(np.median(long_ms))
    yield finding(
        facts,
        KEY,
        f"After {len(long_ms):,} of {units.counted(len(gaps_ms), 'step')} the program does "
        f"something else, {units.seconds(float(long_ms.sum()) / 1000)} in all: "
        f"{units.share(whole)} of the time from step to step{_at(facts)}. Step times do not "
        "include it.",
        "Do it less often or in another thread: checkpoints, evaluation, predict(), logs, plots.",
        _cost(facts, float(long_ms.sum()) / len(gaps_ms), step_ms, whole),
        median_ms=median_ms,
        num_gaps=len(long_ms),
        place=_place(facts),
    )


def _epoch_ends_ms(facts: Facts) -> float:
    """Of each step. Shares are of a time that includes them, so that the two findings add up."""
    ends = facts.epoch_ends
    return ends.total_ms / (len(facts.between.gaps_ms) + ends.count)


def _makes_iterator(facts: Facts) -> bool:
    """Whether the line that most of the time passes in calls `iter`."""
    lines = facts.held_up.of_kind(KEY)
    return bool(lines) and re.search(r"\biter\(", lines[0].detail or "") is not None


def _at(facts: Facts) -> str:
    lines = facts.held_up.of_kind(KEY)
    return f", most of it at {place(lines[0])}" if lines else ""


def _place(facts: Facts) -> str | None:
    lines = facts.held_up.of_kind(KEY)
    return lines[0].name if lines else None


def _cost(facts: Facts, gap_ms: float, step_ms: float, share: float) -> Cost | None:
    """Ranked as if it were a part of the step, which it may exceed. `gap_ms` is of each step."""
    beside = per_step(facts, gap_ms, step_ms)
    return replace(beside, of="loop", share=share) if beside else None
