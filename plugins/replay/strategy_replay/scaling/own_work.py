"""The part of a step that a replica does without the others: batch, compute, update, host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_profiles.tables.columns import Floats
from strategy_replay.scaling.errors import PredictionError
from strategy_replay.scaling.link import Link
from strategy_replay.scaling.recorded_steps import RecordedSteps


@dataclass(frozen=True)
class OwnWork:
    """That of the run with most replicas, which represents any number of them. Steps x replicas."""

    base: RecordedSteps
    compute_ms: Floats
    rest_ms: Floats
    batch_per_replica: float
    is_changed: bool
    """Whether it is not as recorded: another batch, or other devices."""
    notes: tuple[str, ...] = ()


def own_work_of(
    recorded: Sequence[RecordedSteps], batch_per_replica: float | None, link: Link | None
) -> OwnWork:
    """Return the own work with a batch, on the devices of a link."""
    batch = batch_per_replica
    base = max(recorded, key=lambda item: (item.batch_per_replica == batch, item.num_replicas))
    batch = base.batch_per_replica if batch is None else batch
    compute, is_changed = base.compute_ms, False
    if batch != base.batch_per_replica:
        more = _ms_per_example(recorded) * (batch - base.batch_per_replica)
        compute, is_changed = np.maximum(compute + more, 0.0), True
    if link is not None and link.device_times_as_fast != 1.0:
        compute, is_changed = compute / link.device_times_as_fast, True
    return OwnWork(base, compute, base.rest_ms, batch, is_changed, _notes(base))


def _ms_per_example(recorded: Sequence[RecordedSteps]) -> float:
    """Return how much longer a replica computes per example of its batch."""
    batches = np.array([item.batch_per_replica for item in recorded])
    compute = np.array([float(np.median(item.compute_ms)) for item in recorded])
    if len(set(batches.tolist())) < 2:
        raise PredictionError(
            f"All runs have {batches[0]:g} examples per replica: how much longer another batch "
            "takes is not known",
            advice="Name two runs with different batches per replica",
        )
    slope = float(np.polyfit(batches, compute, 1)[0])
    if slope <= 0:
        raise PredictionError(
            "The run with the larger batch computed no longer: how a step depends on the batch is "
            "lost in the noise",
            advice="Record runs whose batches differ more",
        )
    return slope


def _notes(base: RecordedSteps) -> tuple[str, ...]:
    if base.segment.num_workers < 2:
        return ()
    return (_OWN_CPU,)


_OWN_CPU = (
    "Each further worker is assumed to have as much of a CPU as each recorded one: workers that "
    "share the cores of one machine take longer"
)
