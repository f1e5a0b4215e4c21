"""The batch per replica is too small.

## What it does

Looks for 8 or fewer examples per replica in a step of which less than half is computation. Its cost
is what is neither computation nor waiting for a stage of the input pipeline. It ranks by half of
that, as another batch trains another model, but by all of it if there is a single example.

## Why is this slow

The rest of a step (launching ops, collectives, Python) hardly depends on the batch, so few
examples share it.

## What to do

Raise the global batch size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_profiles.analysis.advice.rules import input_bound
from strategy_profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.reporting import units

KEY = "tiny-batch"
ROWS = ("loop/steps/idle",)
TINY_BATCH = 8


def find(facts: Facts) -> Iterator[Finding]:
    if facts.segment.global_batch_size is None:
        return
    batch = facts.segment.global_batch_size
    wall, compute = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("compute")
    if batch is None:
        return
    per_replica = batch / max(1, facts.segment.num_replicas)
    if per_replica > TINY_BATCH or not wall or compute is None or compute / wall > 0.5:
        return
    # A larger batch takes longer to read: waiting for a stage of the input is another finding.
    is_waiting = any(item.evidence["stage"] for item in input_bound.find(facts))
    waited = (facts.breakdown.mean_ms("input") or 0.0) if is_waiting else 0.0
    rest = max(0.0, wall - compute - waited)
    examples = "1 example" if per_replica == 1 else f"{per_replica:.3g} examples"
    place = facts.said_at(".batch(", "batch_size=")
    yield finding(
        facts,
        KEY,
        f"Each replica computes on {examples} a step{place}, and only "
        f"{units.share(compute / wall)} of the step is computation.",
        "Raise the global batch size: the other parts of the step grow little with it.",
        per_step(facts, rest, wall, "derived"),
        examples_per_replica=per_replica,
        compute_ms=compute,
    )


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """Four times as many examples for each replica as what counts as tiny."""
    return {"global_batch_size": 4 * TINY_BATCH * facts.segment.num_replicas}


def removal(facts: Facts, result: Finding) -> Removal:
    """With the proposed batch, per example."""
    return Removal("spec", changes=edits(facts, result))
