"""The loss is NaN or infinity.

## What it does

Looks for steps of the lab's own runs without a finite loss.

## Why is this slow

Not slow, but worthless: from the first such step on, the weights are no longer usable.

## What to do

Lower the learning rate, or look for a logarithm, a root or a division in model and loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps

KEY = "loss-lost"
NO_GAIN = "It is about the loss, not about the length of a step."


def find(facts: Facts) -> Iterator[Finding]:
    """Yield a finding if steps of the lab's own runs have no finite loss."""
    steps = facts.steps
    lost = np.flatnonzero(~np.isfinite(steps.loss))
    if not facts.segment.is_of_lab or not lost.size:
        return
    first = int(steps.step[lost[0]])
    yield finding(
        facts,
        KEY,
        f"The loss is NaN or infinity in {lost.size} of {steps.count} steps, first in step "
        f"{first}: the weights are no longer usable.",
        "Lower the learning rate, or look for a logarithm, a root or a division in model and loss.",
        over_all_steps(facts, float(np.nansum(steps.wall_ms[lost[0] :])), "derived"),
        first_step=first,
        num_steps=int(lost.size),
    )


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """A tenth of the learning rate, if the spec names one."""
    rate = (facts.segment.spec or {}).get("learning_rate")
    return {"learning_rate": rate / 10} if isinstance(rate, int | float) and rate else {}
