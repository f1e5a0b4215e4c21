"""Steps with a partial batch take nearly as long as full ones.

## What it does

Compares steps with fewer examples than the global batch with the median full step: what they take
beyond their share of examples is 5 % of the time of the steps or more. Steps that trace are left
out: in a short run the first one would hide what a long run loses.

## Why is this slow

The last batch of an epoch is shared among the replicas, too. Launching ops and collectives takes as
long as in a full step, and some replicas may get no example. A new batch shape may also trace the
function again.

## What to do

Call `batch(..., drop_remainder=True)`, or choose a global batch that divides the examples of an
epoch.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.reporting import units

KEY = "partial-batch"
ROWS = ("loop/steps",)
NO_GAIN = "It is about some of the steps; a replay predicts the median one."
WASTED_SHARE = 0.05
"""Least share of the time of the steps that do not trace."""
FEWEST = 2


def find(facts: Facts) -> Iterator[Finding]:
    """Every settled step that is not full, together."""
    steps, batch = facts.steps, facts.segment.global_batch_size
    if not batch or facts.segment.batch_sizes:
        return
    partial = steps.settled & (steps.examples > 0) & (steps.examples < batch)
    full = steps.timed & (steps.examples == batch)
    if partial.sum() < FEWEST or not full.any() or not facts.account.loop_ms:
        return
    usual_ms = float(np.median(steps.wall_ms[full]))
    # What a step takes beyond a full one is not for its fewer examples.
    took = np.minimum(steps.wall_ms[partial], usual_ms)
    wasted = took - usual_ms * steps.examples[partial] / batch
    wasted_ms = float(wasted[wasted > 0].sum())
    if wasted_ms / float(np.nansum(steps.wall_ms[steps.settled])) < WASTED_SHARE:
        return
    examples, took_ms = (
        float(np.median(values[partial])) for values in (steps.examples, steps.wall_ms)
    )
    yield finding(
        facts,
        KEY,
        f"{int(partial.sum()):,} of {units.counted(int(steps.settled.sum()), 'step')} have a "
        f"partial batch, the median one {examples:,.0f} of {batch:,} examples, and take "
        f"{units.milliseconds(took_ms)} (median; full steps: {units.milliseconds(usual_ms)}).",
        "Call batch() with drop_remainder=True, or choose a global batch that divides the "
        "examples of an epoch.",
        over_all_steps(facts, wasted_ms, "derived"),
        num_steps=int(partial.sum()),
        examples=examples,
        partial_ms=took_ms,
        full_ms=usual_ms,
    )
