"""The step computes in float64.

## What it does

Looks at the element type of each op of the recorded graph, and adds up the time in which a replica
runs ops that compute in float64: 10 % of a captured step or more. Names the op that takes longest.
Ops whose type is not on record do not count, such as those in a function that XLA compiles.

## Why is this slow

A CPU computes half as many numbers of 64 bits as of 32 bits per instruction, and moves twice the
bytes to memory and between devices. GPUs lose at least as much, and those not made for data centres
far more. NumPy makes float64 where a program does not say otherwise, and TensorFlow keeps it.

## What to do

Give arrays a type (`np.random.rand(...).astype("float32")`, `dtype=`), or cast in the dataset's
`map` (`tf.cast(features, tf.float32)`), and make variables as float32, too. In Keras, leave
`keras.config.floatx()` at `"float32"`. It is no fault where the program needs the precision.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.account.op_time import at_place
from strategy_profiles.analysis.element_types import ComputedIn
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.errors import shortened
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import IN_FLOAT64

KEY = "float64"
ROWS = ("loop/steps/compute",)
NO_GAIN = "A replay does not know how long an op takes with another element type."
LEAST_SHARE = 0.1
"""Of a captured step, in ops that compute in float64."""
MOST_OF_A_NAME = 56
"""Characters of an op's name, beside the dots for those left out."""


def find(facts: Facts) -> Iterator[Finding]:
    """Their time, with the op that takes longest."""
    yield from in_type(
        facts,
        KEY,
        "float64",
        facts.float64,
        f"Unless the program needs the precision, use float32{_instead_of(facts)}: cast in the "
        "dataset's map, give NumPy arrays and variables dtype float32, and in Keras leave floatx "
        "at float32.",
    )


def _instead_of(facts: Facts) -> str:
    """Where the program asks for float64; else where it makes variables without an element type,
    which have that of their NumPy array."""
    if at := facts.said_at(*IN_FLOAT64):
        return f" instead of the float64{at}"
    made = facts.said_at("tf.Variable(", but=("dtype", "float32"))
    return f", such as for the variables made{made}" if made else ""


def in_type(
    facts: Facts, key: str, title: str, computed: ComputedIn | None, advice: str
) -> Iterator[Finding]:
    """The finding on the ops that compute in an element type, if they take long enough."""
    wall = facts.breakdown.mean_ms("wall")
    if not wall or computed is None or computed.ms / wall < LEAST_SHARE:
        return
    compute_ms = facts.breakdown.mean_ms("compute")
    of_compute = min(computed.ms / compute_ms, 1.0) if compute_ms else None
    part = f", {units.share(of_compute)} of the computation" if of_compute else ""
    op = f"{computed.op} ({shortened(computed.name, MOST_OF_A_NAME)})"
    at = at_place(facts.line_of.get(computed.name))
    yield finding(
        facts,
        key,
        f"{of_a_step(facts, computed.ms, wall)} is spent in ops that compute in {title}{part}; "
        f"the longest of them, {op}{at}, takes {units.milliseconds(computed.op_ms)}.",
        advice,
        per_step(facts, computed.ms, wall),
        op=computed.op,
        name=computed.name,
        op_ms=computed.op_ms,
        computed_ms=computed.ms,
        share_of_compute=of_compute,
        num_ops=computed.num_ops,
    )
