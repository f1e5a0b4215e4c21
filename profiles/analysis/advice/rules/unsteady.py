"""Steps vary widely.

## What it does

Compares the 90th percentile of the steps with the 10th: twice as long or more, in 10 steps or
more.

## Why is this slow

Something slows some steps down, often another program on the machine, or another virtual machine
on the same hardware. A median hides it; a comparison suffers from it.

## What to do

If other programs used the machine's cores, end them; if other virtual machines did, measure on
another machine. Otherwise look at a slow step on the timeline. Compare runs with care either way.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from strategy_lab.profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_lab.profiles.analysis.machine_load import NOTABLE_SHARE, MachineLoad, takers
from strategy_lab.profiles.reporting import units

KEY = "unsteady"
NO_GAIN = "It is about some of the steps; a replay predicts the median one."
UNSTEADY = 2.0


def find(facts: Facts) -> Iterator[Finding]:
    if not facts.breakdown.is_in_sync:
        return  # from one worker's result to another's: of no even length by nature
    low, high = facts.steps.quantile_ms(0.1), facts.steps.quantile_ms(0.9)
    if facts.steps.count < 10 or not low or not high or high / low < UNSTEADY:
        return
    longer = facts.steps.timed_ms - float(np.median(facts.steps.timed_ms))
    yield finding(
        facts,
        KEY,
        f"Steps vary between {units.milliseconds(low)} (10th percentile) and "
        f"{units.milliseconds(high)} (90th).",
        _advice(facts.load),
        over_all_steps(facts, float(longer[longer > 0].sum()), "derived"),
        p10_ms=low,
        p90_ms=high,
    )


def _advice(load: MachineLoad | None) -> str:
    if load is None:
        return "Check whether other programs use this machine, and compare runs with care."
    others = load.taken_cores
    if others >= NOTABLE_SHARE * load.num_cores:
        return (
            f"{takers([load])} used {others:.1f} of the machine's {load.num_cores} CPU cores "
            "meanwhile. End the other programs, or measure on another machine, and compare runs "
            "with care."
        )
    return (
        f"{takers([load])} used only {others:.1f} of the machine's {load.num_cores} CPU "
        "cores, so the cause is in the run: compare a slow step with a usual one on the timeline."
    )
