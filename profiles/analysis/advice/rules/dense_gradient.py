"""A sparse gradient is made dense.

## What it does

Looks for an op that turns `IndexedSlices` into a dense tensor (`UnsortedSegmentSum`) whose output
has exactly the size of a variable on the same device, 64 KiB or more.

## Why is this slow

The gradient of a lookup has only the rows that the batch uses. Made dense, it is as large as the
table: zeros are written, reduced over the replicas, and added to every row.

## What to do

Keep the gradient as it is: no `tf.convert_to_tensor`, `tf.add_n`, stacking or clipping over it that
needs a dense tensor (`tf.clip_by_norm` of one gradient keeps it sparse), and an optimizer with a
sparse update.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_lab.profiles.reporting import units

KEY = "dense-gradient"
NO_GAIN = "A sparse gradient is reduced by other ops than the recorded ones."


def find(facts: Facts) -> Iterator[Finding]:
    """The largest of them; its cost is that of the op itself, the reduction comes on top."""
    found, wall = facts.placed.dense_gradients, facts.breakdown.mean_ms("wall")
    if not found:
        return
    largest = found[0]
    longest_ms = max((item.ms for item in found if item.ms is not None), default=None)
    takes = ""
    if longest_ms is not None:
        takes = f" It takes {units.milliseconds(longest_ms)} of a captured step."
    yield finding(
        facts,
        KEY,
        f"{largest.op} makes a sparse gradient dense: {units.size(largest.bytes)}, as large as "
        f"the variable, however few rows a step uses.{takes}",
        "Keep the gradient sparse (IndexedSlices): remove what converts it, such as "
        "tf.convert_to_tensor or tf.add_n, and use an optimizer with sparse updates.",
        per_step(facts, longest_ms, wall) if longest_ms is not None and wall else None,
        op=largest.op,
        device=largest.device,
        bytes=largest.bytes,
        num_ops=len(found),
        op_ms=longest_ms,
    )
