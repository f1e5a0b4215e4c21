"""The run failed because its first step created variables under several replicas.

## What it does

Looks at why the run failed: TensorFlow could not run the function that it makes for a first call
that creates variables. TensorFlow's error is about a placeholder without a value, and names no
variable.

## Why is this slow

It is not slow: it failed. A `tf.function` that creates variables checks in its first call whether
they have values, in a condition around the whole step. The merge calls of several replicas cannot
run in it.

## What to do

Create all variables before the first step, inside `strategy.scope()`: `model.build(input_shape)`,
then `optimizer.build(model.trainable_variables)`. In Keras, an optimizer creates its slots, such as
those of Adam and of momentum, in the first `apply_gradients`, if `build` was not called.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.place import place_of_failure
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.run.tensorflow_names import VARIABLES_IN_FIRST_STEP

KEY = "variables-in-first-step"
NO_GAIN = "The run ended; there is no step to predict."


def find(facts: Facts) -> Iterator[Finding]:
    if facts.segment.num_replicas < 2 or not VARIABLES_IN_FIRST_STEP.search(facts.failure or ""):
        return
    yield finding(
        facts,
        KEY,
        f"The run ended{place_of_failure(facts)} because the first step created variables: a "
        "tf.function cannot do that while several replicas run in it.",
        "Create them before the first step, inside strategy.scope(): model.build(input_shape), "
        "then optimizer.build(model.trainable_variables), which also creates the slots of Adam "
        "and of momentum.",
        None,
        error=facts.failure,
    )
