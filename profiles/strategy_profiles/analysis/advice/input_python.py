"""Python functions of the input pipeline that run while TensorFlow's Python starts the steps.

Only one thread at a time runs Python. A function of the input that prefetch hides from the step
still takes Python's lock (GIL) from it. A capture shows that both run at once, not which one waits
for the other, and a function that sleeps or reads a file does not hold the lock; so the overlap is
a figure of another finding, not a cost.
"""

from __future__ import annotations

from strategy_profiles.analysis.causes import Cause
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.reporting import units

MOST_OF_CALLS = 0.5
"""Least share of the time of the calls in which the function runs, for it to be named."""

ADVICE = (
    "Replace py_function or numpy_function in the input pipeline with TensorFlow ops, or do its "
    "work once and cache() it: prefetch hides it from the step, but it holds the GIL, which the "
    "step needs, unless it only sleeps or reads. "
)


def beside_calls(facts: Facts) -> Cause | None:
    """The op that runs Python for most of the time in which calls hold up the step."""
    found = facts.held_up.of_kind("input-python-ahead")
    calls_ms = facts.held_up.held_ms("call")
    return found[0] if found and found[0].held_ms >= MOST_OF_CALLS * calls_ms else None


def beside_sentence(facts: Facts, op: Cause) -> str:
    """` For 81 % of the time in TensorFlow's Python, ...`, to follow a sentence on the calls."""
    share = units.share(min(op.held_ms / facts.held_up.held_ms("call"), 1.0))
    kind = f", {op.detail}" if op.detail not in (None, op.name) else ""
    return (
        f" For {share} of the time in TensorFlow's Python, the input pipeline runs Python in "
        f"another thread (the op {op.name}{kind}); only one thread at a time can."
    )
