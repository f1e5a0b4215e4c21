"""A sparse gradient is made dense.

## What it does

Looks for an op that turns `IndexedSlices` into a dense tensor (`UnsortedSegmentSum`) whose output
has exactly the size of a variable on the same device, 64 KiB or more. If an all-reduce of the step
moves as many bytes or more, its share of the transfer is a part of the cost.

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

from strategy_profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_profiles.reporting import units

KEY = "dense-gradient"
ROWS = ("loop/steps",)
NO_GAIN = "A sparse gradient is reduced by other ops than the recorded ones."


def find(facts: Facts) -> Iterator[Finding]:
    """The largest of them. Its cost is that of the op, and of the all-reduce of what it makes."""
    found, wall = facts.placed.dense_gradients, facts.breakdown.mean_ms("wall")
    if not found:
        return
    largest = found[0]
    op_ms = max((item.ms for item in found if item.ms is not None), default=None)
    reduced_ms = _reduced_ms(facts, largest.bytes)
    known_ms = [ms for ms in (op_ms, reduced_ms) if ms is not None]
    yield finding(
        facts,
        KEY,
        f"{largest.op} makes a sparse gradient dense: {units.size(largest.bytes)}, as large as "
        f"the variable, however few rows a step uses.{_takes(op_ms, reduced_ms)}",
        "Keep the gradient sparse (IndexedSlices): remove what converts it, such as "
        "tf.convert_to_tensor or tf.add_n, and use an optimizer with sparse updates.",
        per_step(facts, sum(known_ms), wall) if known_ms and wall else None,
        op=largest.op,
        device=largest.device,
        bytes=largest.bytes,
        num_ops=len(found),
        op_ms=op_ms,
        reduced_ms=reduced_ms,
    )


def _takes(op_ms: float | None, reduced_ms: float | None) -> str:
    op, reduced = units.milliseconds(op_ms), units.milliseconds(reduced_ms)
    if reduced_ms is None:
        return f" It takes {op} of a captured step." if op_ms is not None else ""
    if op_ms is None:
        return f" The all-reduce of the result takes {reduced} of a captured step."
    return f" It takes {op} and the all-reduce of the result {reduced} of a captured step."


def _reduced_ms(facts: Facts, num_bytes: float) -> float | None:
    """Transfer of a typical step that reduces the dense gradient; None if it is not known to be.

    An all-reduce that packs other gradients with it moves more, of which this is a share by bytes.
    One that moves less reduced the gradient while it was sparse.
    """
    transfer = facts.breakdown.mean_ms("transfer")
    moved = facts.communication.collective_bytes
    reduced = (each.bytes for each in facts.communication.collectives if each.op == "all-reduce")
    if not transfer or not moved or not any((size or 0) >= num_bytes for size in reduced):
        return None
    return transfer * num_bytes / moved
