"""A GPU idles while the host launches its kernels.

## What it does

Adds up the time in which a GPU is idle and the kernel that ends the gap was launched after the gap
had begun, without waits for a batch; mean over the GPUs: 20 % of a typical captured step or more.

## Why is this slow

Python and TensorFlow's runtime take some microseconds to launch each kernel. If the kernels are
shorter than that, or if the program waits for each result before it launches the next step, the
GPU has nothing to do in between. A faster GPU does not help.

## What to do

Compile the computation of a replica with `tf.function(jit_compile=True)`: XLA makes a few kernels
of many ops. Run several steps in one call (`steps_per_execution`), read the loss every hundredth
step only, or give each step a larger batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)

KEY = "launch-bound"
ROWS = ("loop/steps/idle",)
NO_GAIN = "With fewer and larger kernels, other kernels would run than the recorded ones."
LEAST_SHARE = 0.2


def find(facts: Facts) -> Iterator[Finding]:
    """The idle time of a GPU before launches, with the number of its kernels."""
    wall, held_ms = facts.breakdown.mean_ms("wall"), facts.held_up.launch_ms
    if not wall or held_ms / wall < LEAST_SHARE or facts.captures_are_unlike:
        return
    causes = facts.held_up.of_kind("launch")
    num_kernels = max(cause.count for cause in causes)
    yield finding(
        facts,
        KEY,
        f"For {of_a_step(facts, held_ms, wall)}, a GPU is idle until the host launches its next "
        f"kernel; a step has {num_kernels:,.0f} kernels and copies.",
        "Compile the computation of a replica, without the reduction of gradients, with "
        "tf.function(jit_compile=True), run several steps in one call (steps_per_execution), read "
        "results less often, or give each step a larger batch.",
        per_step(facts, held_ms, wall),
        num_kernels=num_kernels,
        held_ms=held_ms,
    )


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """XLA, if the run does without."""
    return {} if (facts.segment.spec or {}).get("xla") else {"xla": True}
