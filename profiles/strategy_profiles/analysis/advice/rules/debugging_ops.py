"""Ops that print, check numbers or write summaries take long.

## What it does

Looks for the ops of `tf.print`, `tf.summary` and `tf.debugging.check_numerics` inside the step that
take 10 % of a typical captured step or more, on the device on which they take longest. 20 checks of
numbers on a device or more are a finding however long they take. If every op is checked, the cost
includes TensorFlow's Python around the calls.

## Why is this slow

The replica's other ops wait for cores and for copies to the host meanwhile. `tf.print` turns a
tensor to text on the host: `summarize=-1` prints all of it. `tf.debugging.enable_check_numerics`
adds an op for every other one, and TensorFlow no longer fuses those, which costs more than the
checks themselves. It also runs Python for each call of a function: the calls of a convolutional
network's step took 9 instead of 1.3 ms.

## What to do

Print and write summaries every so many steps (`tf.summary.record_if`), or print a mean or a few
elements. Switch `enable_check_numerics` off once the first NaN is found, or check the loss alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from strategy_profiles.analysis.advice.rules.python_op import HELD_SHARE
from strategy_profiles.analysis.causes import Cause
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import (
    CHECK_NUMERICS,
    DUMP_DEBUG_INFO,
    PRINTS,
    WRITES_SUMMARIES,
)
from strategy_profiles.run.tensorflow_names import (
    CHECK_OF_EACH_OP,
    CHECKING_OPS,
    PRINT,
    PRINTING_OPS,
    SUMMARY_OPS,
)
from strategy_profiles.tables.schema import CALLS

KEY = "debugging-ops"
ROWS = ("loop/steps",)
MANY_CHECKS = 20
"""On one device: more than a program checks by itself. Checks of every op took 6 % of the step of a
convolutional network, which they made twice as long."""
NOT_FUSED = "Without the checks, TensorFlow would fuse ops, and run others than the recorded ones."


class _Purpose(Struct, frozen=True):
    ops: frozenset[str]
    title: str
    """The subject of a sentence."""
    advice: str
    says: tuple[str, ...] = ()
    """What a line that makes them says."""
    fewest_ops: float = float("inf")
    """On a device, from which on they are a finding however long they take."""


_PURPOSES = (
    _Purpose(
        PRINTING_OPS,
        "tf.print",
        "Print every so many steps, or print a mean or a few elements: to print all of a tensor "
        "takes as long outside of the step.",
        PRINTS,
    ),
    _Purpose(
        SUMMARY_OPS,
        "Writing summaries (tf.summary)",
        "Write them every so many steps (tf.summary.record_if), or return the values from the step "
        "and write them outside.",
        WRITES_SUMMARIES,
    ),
    _Purpose(
        CHECKING_OPS,
        "Checking numbers (tf.debugging)",
        "{switch}, or check the loss alone: TensorFlow does not fuse ops whose results are "
        "checked, which costs more than the checks.",
        fewest_ops=MANY_CHECKS,
    ),
)


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each purpose."""
    wall = facts.breakdown.mean_ms("wall")
    every = facts.held_up.of_kind("debugging-op")
    for purpose in _PURPOSES if wall else ():
        causes = [cause for cause in every if cause.name in purpose.ops]
        held_ms = _most_on_a_device(causes, lambda cause: cause.held_ms)
        is_often = _most_on_a_device(causes, lambda cause: cause.count) >= purpose.fewest_ops
        if not wall or not (held_ms / wall >= HELD_SHARE or is_often):
            continue
        num_ops = sum(cause.count for cause in causes)
        calls_ms = facts.held_up.held_ms(*CALLS) if is_each_op_checked(causes) else 0.0
        calls = (
            " TensorFlow's Python around the calls, which checks what they return, takes "
            f"{units.milliseconds(calls_ms)}."
            if calls_ms
            else ""
        )
        yield finding(
            facts,
            KEY,
            f"{purpose.title}{facts.said_at(*purpose.says)} takes "
            f"{of_a_step(facts, held_ms, wall)}: {units.counted(round(num_ops), 'op')} a step, "
            f"most of the time in {causes[0].name}.{calls}",
            purpose.advice.format(switch=_switched_off(facts)),
            per_step(facts, held_ms + calls_ms, wall, "derived" if calls_ms else "measured"),
            op=causes[0].name,
            num_ops=num_ops,
            held_ms=held_ms,
            calls_ms=calls_ms or None,
        )


def _switched_off(facts: Facts) -> str:
    """Two functions have every op checked; each has its own that ends it."""
    dumps, at = facts.said_at(DUMP_DEBUG_INFO), facts.said_at(CHECK_NUMERICS)
    if dumps and not at:
        return f"Once the first NaN is found, take the call out that has every op checked{dumps}"
    on = f" (it is switched on{at})" if at else ""
    return f"Call tf.debugging.disable_check_numerics() once the first NaN is found{on}"


def is_each_op_checked(causes: Sequence[Cause]) -> bool:
    """Whether `tf.debugging.enable_check_numerics`, or the dump of debug info, is on."""
    return any(cause.name == CHECK_OF_EACH_OP for cause in causes)


def behind_calls(facts: Facts) -> str | None:
    """`KEY` if TensorFlow's Python around the calls is long because it checks numbers."""
    checks = [each for each in facts.held_up.of_kind("debugging-op") if is_each_op_checked([each])]
    is_often = _most_on_a_device(checks, lambda cause: cause.count) >= MANY_CHECKS
    return KEY if is_often else None


def _most_on_a_device(causes: list[Cause], value: Callable[[Cause], float]) -> float:
    of_device: dict[str | None, float] = {}
    for cause in causes:
        of_device[cause.device] = of_device.get(cause.device, 0.0) + value(cause)
    return max(of_device.values(), default=0.0)


def removal(_facts: Facts, result: Finding) -> Removal | str:
    """With `tf.print`, or the summary op that takes most of the time, for free; not of checks,
    without which TensorFlow would fuse the ops that are checked."""
    op = result.evidence["op"]
    if op in CHECKING_OPS:
        return NOT_FUSED
    return Removal("free-ops", kind_of_op=PRINT if op in PRINTING_OPS else op)
