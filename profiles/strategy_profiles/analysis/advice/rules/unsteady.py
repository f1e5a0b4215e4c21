"""Steps vary widely.

## What it does

Compares the 90th percentile of the steps with the 10th: twice as long or more, in 10 steps or
more. Steps with fewer examples than the global batch are left out, and the first of each epoch.
Nothing if `busy-machine` says that other programs take the cores.

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

from strategy_profiles.analysis.advice.rules import busy_machine, busy_thread
from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.analysis.growth import growth
from strategy_profiles.analysis.machine_load import MachineLoad, takers
from strategy_profiles.reporting import units
from strategy_profiles.tables.columns import Floats

KEY = "unsteady"
ROWS = ("loop/steps",)
COMPARE = "Compare a slow step with a usual one on the Timeline page."
NO_GAIN = "It is about some of the steps; a replay predicts the median one."
UNSTEADY = 2.0


def find(facts: Facts) -> Iterator[Finding]:
    if any(busy_machine.find(facts)):
        return  # other programs take the cores, which is said once
    if busy_thread.is_notable(facts):
        return  # another thread has Python's lock from time to time: it has a finding
    if not facts.breakdown.is_in_sync:
        return  # from one worker's result to another's: of no even length by nature
    alike_ms = of_full_batches_ms(facts)
    if facts.steps.count < 10 or not alike_ms.size:
        return
    low, middle, high = (float(value) for value in np.quantile(alike_ms, (0.1, 0.5, 0.9)))
    if not low or high / low < UNSTEADY or growth(alike_ms) is not None:
        return  # steps that grow have a finding of their own
    longer = alike_ms - middle
    yield finding(
        facts,
        KEY,
        f"Steps vary between {units.milliseconds(low)} (10th percentile) and "
        f"{units.milliseconds(high)} (90th).",
        COMPARE if facts.is_imported else _advice(facts.load),
        over_all_steps(facts, float(longer[longer > 0].sum()), "derived"),
        p10_ms=low,
        p90_ms=high,
    )


def of_full_batches_ms(facts: Facts) -> Floats:
    """Lengths of the steps that have the same work, as far as their examples are known."""
    steps, batch = facts.steps, facts.segment.global_batch_size
    is_partial = (steps.examples > 0) & (steps.examples < (batch or 0))
    begins_epoch = np.isin(steps.step, [end.step + 1 for end in facts.epoch_ends.ends])
    return steps.wall_ms[steps.timed & ~is_partial & ~begins_epoch]


def _advice(load: MachineLoad | None) -> str:
    if load is None:
        return "Check whether other programs use this machine, and compare runs with care."
    others = load.taken_cores
    if load.is_notable:
        return (
            f"{takers([load])} used {others:.1f} of the machine's {load.num_cores} CPU cores "
            "meanwhile. End the other programs, or measure on another machine, and compare runs "
            "with care."
        )
    return (
        f"{takers([load])} used only {others:.1f} of the machine's {load.num_cores} CPU "
        "cores, so the cause is in the run: compare a slow step with a usual one on the timeline."
    )
