"""The run failed because the members of a collective had tensors of different shapes.

## What it does

Looks at why the run failed: TensorFlow refused a collective because its members brought tensors of
different shapes. Then looks at how many strategies with several replicas the program had.

## Why is this slow

Not slow, but at an end. With one strategy, its replicas reduced tensors of different shapes. With
several, the collectives of two strategies met: TensorFlow numbers the collectives of each strategy,
and every MirroredStrategy of a program begins with the same number.

## What to do

With several, create one strategy for the whole program, and all models under it; or train each
model in a process of its own. With one strategy, look for a tensor whose shape depends on the
replica or on its part of the batch. Such a tensor can be reduced to one of a fixed shape first, for
instance to its sum.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.place import place_of_failure
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.run.tensorflow_names import SHAPES_DIFFER, SHAPES_OF_MEMBERS

KEY = "shared-collective-key"
NO_GAIN = "The run ended; there is no step to predict."
_ONE_STRATEGY = (
    "Create one strategy for the whole program and all models under it, or train each model in a "
    "process of its own."
)
_ONE_SHAPE = (
    "Give the tensor one shape in all replicas: look for a size that depends on the replica or on "
    "its part of the batch."
)


def find(facts: Facts) -> Iterator[Finding]:
    failure = facts.failure or ""
    if SHAPES_DIFFER not in failure:
        return
    shapes = SHAPES_OF_MEMBERS.search(failure)
    # The order in which TensorFlow names the members differs from run to run.
    of_shapes = f" ({' and '.join(sorted(shapes.groups()))})" if shapes else ""
    num_strategies = facts.failed.strategies if facts.failed else None
    why, advice = _reason(num_strategies)
    yield finding(
        facts,
        KEY,
        f"The run ended{place_of_failure(facts)} because the members of a collective had tensors "
        f"of different shapes{of_shapes}: {why}.",
        advice,
        None,
        error=failure,
        strategies=num_strategies,
    )


def _reason(num_strategies: int | None) -> tuple[str, str]:
    if num_strategies == 1:
        return "the replicas' tensors differ", _ONE_SHAPE
    if num_strategies:
        why = f"the program has {num_strategies} strategies, which use the same collective keys"
        return why, _ONE_STRATEGY
    why = (
        "two strategies of the program use the same collective key, or the replicas' tensors differ"
    )
    return why, f"With several strategies: {_lower(_ONE_STRATEGY)} With one: {_lower(_ONE_SHAPE)}"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
