"""The step computes in float16 on CPUs.

## What it does

Adds up the time in which a replica runs ops that compute in float16, as the rule `float64` does:
10 % of a captured step or more, if all replicas are on CPUs. Names the op that takes longest.

## Why is this slow

Most CPUs cannot compute in float16. TensorFlow converts each number to float32 and back, and does
not use the libraries that make float32 fast. The step of a small convolutional network took 3.3
times as long with Keras's policy `mixed_float16` as without it.

## What to do

On CPUs leave Keras's policy at `"float32"`, or cast to float32. `mixed_bfloat16` took as long as
float32 on a CPU with instructions for it. Choose `mixed_float16` where the program finds a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.rules.float64 import in_type
from strategy_profiles.analysis.facts import Facts, Finding
from strategy_profiles.run.event_parts import IN_FLOAT16

KEY = "float16-on-cpu"
ROWS = ("loop/steps/compute",)
NO_GAIN = "A replay does not know how long an op takes with another element type."


def find(facts: Facts) -> Iterator[Finding]:
    """Their time, with the op that takes longest."""
    if all("CPU" in device for device in facts.segment.replica_devices):
        yield from in_type(
            facts,
            KEY,
            "float16 on CPUs",
            facts.float16,
            "Compute in float32 on CPUs: in Keras leave the policy at float32 instead of "
            f"mixed_float16{facts.said_at(*IN_FLOAT16)}, which is for GPUs.",
        )
