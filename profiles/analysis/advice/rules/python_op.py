"""An op runs Python inside the graph.

## What it does

Looks for `py_function` and `numpy_function` ops that take 10 % of a step or more; the lab's own
delay is left out.

## Why is this slow

The op holds the GIL and runs on the host: the replica waits, and on an accelerator its tensors
travel there and back.

## What to do

Replace it with TensorFlow ops, or move its work to the input pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_lab.profiles.analysis.removal import Removal
from strategy_lab.profiles.run.injected_delay import is_injected

KEY = "python-op"
ROWS = ("loop/steps/compute",)
HELD_SHARE = 0.1
"""A cause of idling is named from this share of a step on."""


def find(facts: Facts) -> Iterator[Finding]:
    """Ops that leave the graph to run Python."""
    wall = facts.breakdown.mean_ms("wall")
    every = facts.held_up.of_kind("python-op")
    for cause in [cause for cause in every if not is_injected(cause.name, "PyFunc")][:1]:
        if not wall or cause.held_ms / wall < HELD_SHARE:
            continue
        yield finding(
            facts,
            "python-op",
            f"{of_a_step(facts, cause.held_ms, wall)} runs Python inside the graph: the op "
            f"{cause.name} ({cause.detail}).",
            "Replace py_function or numpy_function with TensorFlow ops, or move its work to "
            "the input pipeline.",
            per_step(facts, cause.held_ms, wall),
            op=cause.name,
            held_ms=cause.held_ms,
        )


def removal(facts: Facts, found: Finding) -> Removal:
    """With Python ops of this type that take no time: the most that TensorFlow ops can save."""
    known = {cause.name: cause.detail for cause in facts.held_up.of_kind("python-op")}
    op = found.evidence["op"]
    return Removal("free-ops", kind_of_op=known.get(op) or op, is_bound=True)
