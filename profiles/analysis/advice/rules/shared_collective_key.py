"""The run failed because two strategies used one key for collectives of different sizes.

## What it does

Looks at why the run failed: TensorFlow refused a collective because its members brought tensors of
different shapes.

## Why is this slow

Not slow, but at an end. TensorFlow numbers the collectives of each strategy, and every
MirroredStrategy of a program begins with the same number. If two of them are used in turn, a
collective of the second meets the first one's with the same number. Replicas that reduce tensors
of different shapes have the same error.

## What to do

Create one strategy for the whole program, and all models under it; or train each model in a process
of its own. With one strategy, look for a tensor whose shape differs between replicas, such as a
partial batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.facts import Facts, Finding, finding
from strategy_lab.profiles.run.tensorflow_names import SHAPES_DIFFER

KEY = "shared-collective-key"
NO_GAIN = "The run ended; there is no step to predict."


def find(facts: Facts) -> Iterator[Finding]:
    if SHAPES_DIFFER not in (facts.failure or ""):
        return
    yield finding(
        facts,
        KEY,
        "The run ended because the members of a collective had tensors of different shapes: two "
        "strategies of the program use the same collective key, or the replicas' tensors differ.",
        "Create one strategy for the whole program and all models under it, or train each model in "
        "a process of its own.",
        None,
        error=facts.failure,
    )
