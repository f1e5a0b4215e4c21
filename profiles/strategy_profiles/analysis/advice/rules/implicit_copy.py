"""A tensor that the step takes from outside is copied between devices in each step.

## What it does

Looks for transfers of 64 KiB or more of a tensor that the step's function captures or takes as an
argument, from the device of one replica to that of another, in captured steps. Strategies that keep
variables on one device by design are left out. If ops of a replica run on another device, that is
the finding `detour`.

## Why is this slow

A tensor that is created outside of the step is on one device. TensorFlow copies it to each other
one that uses it, in each step, though it never changes, and says nothing. Virtual CPU devices share
its memory, which takes microseconds; GPUs move all of it, and hold it once more.

## What to do

Make it a `tf.Variable(..., trainable=False)` inside `strategy.scope()`, so that each replica has a
copy. Take a batch from `strategy.experimental_distribute_dataset` and not as one tensor.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.rules.detour import short
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.reporting import units

KEY = "implicit-copy"
ROWS = ("loop/steps",)
NO_GAIN = "How long the replicas would read their own copies was not recorded."

START_MS, SLOWEST_BYTES_PER_MS = 0.1, 500_000.0
"""The most that a copy between two devices of a machine takes beside its bytes, and its slowest
speed. What a transfer takes beyond that is waiting: 131 kB were 5.5 ms on their way to a device
whose core was busy, and steps with a copy on each device from the start were no shorter."""


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for all such tensors. It costs what the copies take in captured steps."""
    copied = facts.placed.taken.variables
    if not copied or facts.segment.has_central_copy is not False:
        return
    if facts.held_up.of_kind("detour"):
        return
    wall, copied_ms = facts.breakdown.mean_ms("wall"), facts.placed.taken.longest_ms
    takes, cost = "", None
    if copied_ms is not None and wall:
        num_bytes = sum(each.bytes for each in copied)
        most_ms = len(copied) * START_MS + num_bytes / SLOWEST_BYTES_PER_MS
        is_known = copied_ms <= most_ms
        copied_ms = min(copied_ms, most_ms)
        take = "take" if is_known else "take at most"
        takes = f" The copies {take} {of_a_step(facts, copied_ms, wall)}."
        cost = per_step(facts, copied_ms, wall, "measured" if is_known else "derived")
    others = units.counted(len(copied) - 1, "other tensor")
    names = f"{copied[0].name} and {others}" if len(copied) > 1 else f"The tensor {copied[0].name}"
    yield finding(
        facts,
        KEY,
        f"{names}, which the step takes from outside, {'are' if len(copied) > 1 else 'is'} on "
        f"{short(copied[0].device)}, the device of one replica: each step copies "
        f"{units.size(sum(each.bytes for each in copied))} from there to other replicas.{takes}",
        "Make what does not change a tf.Variable(..., trainable=False) inside strategy.scope(), "
        "and take batches from strategy.experimental_distribute_dataset.",
        cost,
        tensor=copied[0].name,
        device=copied[0].device,
        bytes=sum(each.bytes for each in copied),
        num_tensors=len(copied),
        copied_ms=copied_ms,
    )
