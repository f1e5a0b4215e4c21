"""The run failed because XLA compiled a step with variables of several devices.

## What it does

Looks at why the run failed: TensorFlow refused a function with `jit_compile=True`, because it uses
a variable of another device than the one that it runs on.

## Why is this slow

Not slow, but at an end. XLA compiles a function for one device. With `jit_compile=True` around
`strategy.run`, which Keras's `compile(jit_compile=True)` does under a strategy, the compiled
function holds the work and the variables of every replica.

## What to do

Compile what each replica does: put `jit_compile=True` on the function that is passed to
`strategy.run`, without its update of the variables. In Keras, leave `jit_compile` away: it is off
under a strategy.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.place import place_of_failure
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.run.tensorflow_names import XLA_ACROSS_DEVICES

KEY = "xla-across-devices"
NO_GAIN = "The run ended; there is no step to predict."


def find(facts: Facts) -> Iterator[Finding]:
    if not XLA_ACROSS_DEVICES.search(facts.failure or ""):
        return
    yield finding(
        facts,
        KEY,
        f"The run ended{place_of_failure(facts)} because XLA compiled a step with the variables "
        "of several devices: a function with jit_compile=True calls strategy.run, as Keras's "
        "compile(jit_compile=True) makes it under a strategy.",
        "Put jit_compile=True on the function that each replica runs, or leave it away; in Keras, "
        "do not pass jit_compile=True under a strategy.",
        None,
        error=facts.failure,
    )
