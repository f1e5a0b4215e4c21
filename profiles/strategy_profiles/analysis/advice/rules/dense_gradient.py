"""A sparse gradient is made dense.

## What it does

Looks for an op that turns `IndexedSlices` into a dense tensor (`UnsortedSegmentSum`) whose output
has exactly the size of a variable on the same device, 64 KiB or more. If an all-reduce of the step
moves as many bytes or more, its share of the transfer is a part of the cost. So is the optimizer's
share by bytes, if the op is the optimizer's: it then updates every row. Or, if they take longer,
the other ops that compute a tensor of that size element by element, as those of a penalty. A
gradient with half as many rows as the variable, or more, is not looked at.

## Why is this slow

The gradient of a lookup has only the rows that the batch uses. Made dense, it is as large as the
table: zeros are written, reduced over the replicas, and added to every row.

## What to do

Keep the gradient as it is: no `tf.convert_to_tensor`, `tf.add_n`, stacking or clipping over it that
needs a dense tensor (`tf.clip_by_norm` of one gradient keeps it sparse), and an optimizer with a
sparse update.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strategy_profiles.analysis.account.op_time import OpTime, at_place
from strategy_profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_profiles.analysis.placed import SCATTER_INTO_DENSE, DenseGradient
from strategy_profiles.reporting import units
from strategy_profiles.run.tensorflow_names import WRITE_VARIABLE

KEY = "dense-gradient"
ROWS = ("loop/steps/compute", "loop/steps/transfer")
_OF_A_CALL = "StatefulPartitionedCall/"
_ADVICE = (
    "Keep the gradient sparse (IndexedSlices): remove what converts it, such as "
    "tf.convert_to_tensor, tf.add_n, or a penalty on the whole variable, whose gradient is dense "
    "(compute it from the rows of the batch), and use an optimizer with sparse updates."
)
_ADVICE_ON_OPTIMIZER = (
    "The optimizer{at} makes it dense, and updates all rows. Of Keras's optimizers SGD without "
    "momentum alone writes the rows of a batch and no others: use it, for this table at least, or "
    "make the table smaller."
)
_OPTIMIZERS = tuple(
    f"{name}(" for name in ("Adam", "AdamW", "Adagrad", "RMSprop", "Nadam", "Ftrl", "Lion", "SGD")
)
"""What the line says that makes an optimizer."""
NO_GAIN = "A sparse gradient is reduced by other ops than the recorded ones."


def find(facts: Facts) -> Iterator[Finding]:
    """The largest of them. Its cost is that of the op, and of the all-reduce of what it makes."""
    gradients, wall = facts.placed.dense_gradients, facts.breakdown.mean_ms("wall")
    if not gradients:
        return
    largest = gradients[0]
    it_ms, update_ms = _op_ms(facts, gradients), _update_ms(facts, largest)
    others_ms = _others_ms(gradients, it_ms)
    if (update_ms or 0.0) > (others_ms or 0.0):
        others_ms = None  # what the optimizer computes is in both
    parts_ms = {
        "It": it_ms,
        "The optimizer, which then updates every row,": None if others_ms else update_ms,
        "What else is computed on all of the variable": others_ms,
        "The all-reduce of the result": _reduced_ms(facts, largest.bytes),
    }
    known = {what: ms for what, ms in parts_ms.items() if ms is not None}
    takes = [
        f" {what} takes {units.milliseconds(ms)} of a captured step." for what, ms in known.items()
    ]
    scatter = _scatter(facts)
    at = at_place(scatter.line if scatter else None)
    yield finding(
        facts,
        KEY,
        f"{largest.op.removeprefix(_OF_A_CALL)}{at} makes a sparse gradient dense: "
        f"{units.size(largest.bytes)}, as large as the variable, however few rows a step uses."
        + "".join(takes),
        _ADVICE
        if update_ms is None
        else _ADVICE_ON_OPTIMIZER.format(at=facts.said_at(*_OPTIMIZERS)),
        per_step(facts, sum(known.values()), wall) if known and wall else None,
        place=at.removeprefix(" at ") or None,
        op=largest.op,
        ops=[largest.op],
        device=largest.device,
        bytes=largest.bytes,
        num_ops=len(gradients),
        op_ms=parts_ms["It"],
    )


def _op_ms(facts: Facts, gradients: Sequence[DenseGradient]) -> float | None:
    """Its part of the time in which the replicas compute; without that, its own length on the
    device on which it takes longest."""
    compute_ms = facts.breakdown.mean_ms("compute")
    own = _scatter(facts)
    if own is not None and compute_ms is not None:
        return own.share * compute_ms
    return max((each.ms for each in gradients if each.ms is not None), default=None)


def _scatter(facts: Facts) -> OpTime | None:
    return next((time for time in facts.ops if time.op in SCATTER_INTO_DENSE), None)


def _others_ms(gradients: Sequence[DenseGradient], it_ms: float | None) -> float | None:
    """Time per step of the other ops that compute all of these variables; None if there are none.

    They have the same ratio to `it_ms` as the lengths of both in the captured steps."""
    own_ms = sum(each.ms or 0.0 for each in gradients)
    others_ms = sum({(each.device, each.bytes): each.others_ms for each in gradients}.values())
    return it_ms * others_ms / own_ms if it_ms and own_ms and others_ms else None


def _update_ms(facts: Facts, dense: DenseGradient) -> float | None:
    """The optimizer's other ops, for the variable and what it keeps for it; None if the op is not
    the optimizer's."""
    own = _scatter(facts)
    compute_ms = facts.breakdown.mean_ms("compute")
    if own is None or own.layer is None or compute_ms is None:
        return None
    others = [time for time in facts.ops if time.layer == own.layer and time is not own]
    if not any(time.op.startswith(WRITE_VARIABLE) for time in others):
        return None
    return sum(time.share for time in others) * compute_ms * dense.share_of_variables


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
