"""Replicas of other processes in a captured step: their timestamps, not their ops, are recorded.

TensorFlow's profiler runs in the first worker alone. The other workers' steps have timestamps: when
the batch was there, and when the gradients were. So a replay has one node for each phase of such a
replica (input, compute, delay), and the all-reduce of the gradients waits for the last of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class TimedReplica:
    """A replica's step by its timestamps, in ns since the epoch on the first worker's clock."""

    worker: int
    replica: int
    device: str
    start_ns: int
    """Start of its worker's step."""
    input_ns: int
    """How long the step then waited for its batch."""
    ready_ns: int
    """When the batch was there."""
    delay_ns: int
    """The injected delay, at the end of what the replica computes."""
    gradients_ns: int
    """When its gradients were there."""

    @property
    def compute_ns(self) -> int:
        """Time from the batch to the gradients, without the delay."""
        return self.gradients_ns - self.ready_ns - self.delay_ns


Timed = dict[int, tuple[TimedReplica, ...]]
"""By step."""


def timed_replicas(profile: Profile, opened: SegmentOpened, steps: Collection[int]) -> Timed:
    """Return all replicas of these steps that have timestamps, by step and in order of replica."""
    rows = profile.mark_rows
    rows = rows.only((rows.segment == opened.segment) & np.isin(rows.step, list(steps)))
    ahead = profile.clocks.all_to_reference(rows.worker, rows.gradients_ns) - rows.gradients_ns
    columns = (
        rows.step,
        rows.worker,
        rows.replica,
        rows.start_ns + ahead,
        rows.input_ns,
        rows.inputs_ns + ahead,
        rows.delay_ns,
        rows.gradients_ns + ahead,
    )
    by_step: dict[int, list[TimedReplica]] = defaultdict(list)
    for step, worker, replica, *times in zip(*(each.tolist() for each in columns), strict=True):
        by_step[step].append(TimedReplica(worker, replica, opened.replica_devices[replica], *times))
    return {
        step: tuple(sorted(replicas, key=lambda item: item.replica))
        for step, replicas in by_step.items()
    }
