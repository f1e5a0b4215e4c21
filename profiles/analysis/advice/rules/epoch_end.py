"""The end of an epoch of Keras's `fit` takes long, compared with the steps of the epoch.

## What it does

Compares the time from the last step of an epoch to the first of the next with the time from step to
step of all: 15 % or more, and at least 1 ms each. Names the largest part of it, if one takes half:
validation, or the callbacks' `on_epoch_end`. Says so if the first validation, which traces and
compiles its function, took twice as long as the median of the others, or is the only one. Recorded
by `strategy-lab trace` and `lab.RecorderCallback`. An end in which a capture window begins or ends
is left out.

## Why is this slow

No replica trains while Keras computes metrics, validates, calls the callbacks and makes iterators
over the data, and no step time includes this. On several replicas, TensorFlow waits for the tuning
threads of tf.data when it deletes these iterators: where other programs use all cores, for seconds,
up to a minute. The data set's own options do not reach these threads.

## What to do

Make epochs longer: `steps_per_epoch` over data that repeats. Validate less often
(`validation_freq`) or fewer batches (`validation_steps`), `cache()` the validation data, or raise
`steps_per_execution`, which holds for validation, too. Let callbacks do less, or only every few
epochs. Give the program cores of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from strategy_lab.profiles.analysis.epoch_ends import EpochEnds
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_lab.profiles.reporting import units

KEY = "epoch-end"
NO_GAIN = "What runs between the steps is not an op of the replayed step."
SHARE = 0.15
SHORTEST_MS = 1.0
LARGEST_PART = 0.5
FIRST_TIMES = 2.0
"""How much longer than later validations the first one is if tracing matters."""

_VALIDATION = (
    "Validate less often or on fewer batches (validation_freq, validation_steps), cache() the "
    "validation data, or raise steps_per_execution; longer epochs (steps_per_epoch) end less often."
)
_CALLBACKS = (
    "Let the callbacks do less in on_epoch_end, or only every few epochs: checkpoints, logs, "
    "plots; longer epochs (steps_per_epoch) end less often."
)
_OTHER = "Make epochs longer (steps_per_epoch, over data that repeats), so that fewer end."
_UNKNOWN = f"{_OTHER[:-1]}, and let callbacks do less in on_epoch_end."
"""Where the callbacks' part was not measured."""


def find(facts: Facts) -> Iterator[Finding]:
    ends, between_ms, step_ms = facts.epoch_ends, facts.between.gaps_ms, facts.steps.median_ms
    if not facts.breakdown.is_in_sync or ends.median_ms is None or not step_ms:
        return
    num_steps = len(between_ms) + ends.count
    loop_ms = ends.total_ms + float(between_ms.sum()) + step_ms * num_steps
    share = ends.total_ms / loop_ms
    if ends.median_ms < SHORTEST_MS or share < SHARE:
        return
    part, advice = _largest_part(ends)
    cost = per_step(facts, ends.total_ms / num_steps, step_ms)
    yield finding(
        facts,
        KEY,
        f"{_length(ends)}: {units.share(share)} of the time from step to step. {part}"
        f"{_first_validation(ends)}Step times do not include it.",
        advice,
        replace(cost, of="loop", share=share) if cost else None,
        num_ends=ends.count,
        median_ms=ends.median_ms,
        validation_ms=ends.validation_ms,
        callbacks_ms=ends.callbacks_ms,
    )


def _length(ends: EpochEnds) -> str:
    total = units.seconds(ends.total_ms / 1e3)
    if ends.count == 1 or ends.median_ms is None:
        return f"At the end of an epoch Keras's fit took {total} until the next step"
    return (
        f"At the end of {ends.count:,} epochs Keras's fit took {total} until the next step "
        f"(median {units.seconds(ends.median_ms / 1e3)})"
    )


def _largest_part(ends: EpochEnds) -> tuple[str, str]:
    """A sentence on it, and the advice."""
    parts = [
        (ends.validation_ms, "validation", _VALIDATION),
        (ends.callbacks_ms or 0.0, "in the callbacks' on_epoch_end", _CALLBACKS),
    ]
    for part_ms, name, advice in parts:
        share = part_ms / ends.total_ms
        if share >= LARGEST_PART:
            return f"{units.share(share)} of that is {name}. ", advice
    return "", _UNKNOWN if ends.callbacks_ms is None else _OTHER


def _first_validation(ends: EpochEnds) -> str:
    """A sentence if the tracing of the validation may be much of what was measured."""
    lengths = [end.validation_ms for end in ends.ends if end.validation_ms is not None]
    if not lengths:
        return ""
    first, later = lengths[0], lengths[1:]
    if not later:
        return "This is the first validation, which traces and compiles: later ones take less. "
    if first < FIRST_TIMES * float(np.median(later)):
        return ""
    return (
        f"The first validation, which traces and compiles, took {units.seconds(first / 1e3)}, "
        f"the others {units.seconds(float(np.median(later)) / 1e3)} (median). "
    )
