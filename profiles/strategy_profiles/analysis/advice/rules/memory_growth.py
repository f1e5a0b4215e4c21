"""Memory grows with every step.

## What it does

Looks at the memory of each device and process over the second half of the run: it grows by more
than 5 %, nearly every sample is larger than the one before, and all steps together add a fifth of
it or more, and 300 MB. A function that is traced again has a finding of its own.

## Why is this slow

It is not, until the memory is full: then the system ends the process.

## What to do

Look for what each step adds to: a list of tensors or losses, a function that is traced again, ops
that are added to a graph, a callback that keeps its logs.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from strategy_profiles.analysis.advice.rules import between_steps, growing_steps, retracing
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.memory import PROCESS
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names

KEY = "memory-growth"
LARGE, LARGE_BYTES = 0.2, 300_000_000
"""Least share of the memory, and bytes, that all steps together have added."""
NO_GAIN = "Memory is not a part of a replayed step."


def find(facts: Facts) -> Iterator[Finding]:
    growing = [item for item in facts.memory if item.is_growing and item.growth_bytes_per_step]
    most = max(growing, key=lambda item: item.growth_bytes_per_step or 0.0, default=None)
    if most is None or most.growth_bytes_per_step is None:
        return
    added = most.growth_bytes_per_step * facts.steps.count
    is_traced_again = any(True for _ in retracing.find(facts))  # each graph stays in memory
    if added < max(LARGE * most.last_bytes, LARGE_BYTES) or is_traced_again:
        return
    whose = "the process" if most.device == PROCESS else short_names([most.device])[most.device]
    each = units.size(most.growth_bytes_per_step)
    item = finding(
        facts,
        KEY,
        f"The memory of {whose} grows by {each} with every step, to {units.size(most.last_bytes)}.",
        "Look for what each step adds to: a list of tensors or losses, a function that is traced "
        "again, ops that are added to a graph.",
        None,
        growth_bytes_per_step=most.growth_bytes_per_step,
        last_bytes=most.last_bytes,
    )
    yield msgspec.structs.replace(item, caused_by=_slower(facts))


def _slower(facts: Facts) -> str | None:
    """The finding on steps, or on what is between them, that takes longer and longer: it names the
    line that adds to something."""
    slowing = [*between_steps.find(facts), *growing_steps.find(facts)]
    return next((item.key for item in slowing if item.evidence.get("grows_ms")), None)
