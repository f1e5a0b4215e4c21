"""The run failed.

## What it does

Explains the error that ended the run: the step, the replica, the layer and the line that it came
from, and its cause, if an installed package knows the error by what causes it. Three errors
have rules of their own. A run that failed before its first step has the same explanation.

## Why is this slow

It is not slow: it ended.

## What to do

As the finding says. An error that is not known is shown as TensorFlow wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.failures import explain
from strategy_profiles.run.events import ENDED_BY
from strategy_profiles.run.tensorflow_names import (
    SHAPES_DIFFER,
    VARIABLES_IN_FIRST_STEP,
    XLA_ACROSS_DEVICES,
)

KEY = "failure"
SENT = ("SIGTERM", "SIGHUP", "SIGKILL", "SIGQUIT")
"""Signals that end a program from outside: why no step came before is what there is to explain."""
NO_GAIN = "The run ended; there is no step to predict."


def find(facts: Facts) -> Iterator[Finding]:
    if facts.failed is None or _has_own_rule(facts):
        return
    steps = facts.steps
    next_step = int(steps.step[-1]) + 1 if steps.count else facts.segment.first_step
    explained = explain(facts.failed, next_step, facts.segment.num_replicas)
    known = {"cause": explained.key, "replica": explained.replica, "layer": explained.layer}
    evidence = {name: value for name, value in known.items() if value is not None}
    evidence |= {"place": explained.place, "error": facts.failed.message}
    yield finding(facts, KEY, explained.sentence, explained.advice, None, **evidence)


def _has_own_rule(facts: Facts) -> bool:
    assert facts.failed is not None
    message, patterns = facts.failed.message, (VARIABLES_IN_FIRST_STEP, XLA_ACROSS_DEVICES)
    if facts.stuck and message.startswith(tuple(f"{ENDED_BY}{name}" for name in SENT)):
        return True
    return SHAPES_DIFFER in message or any(pattern.search(message) for pattern in patterns)
