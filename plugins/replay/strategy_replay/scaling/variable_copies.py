"""Predictions assume synchronous data parallelism: a copy of the variables beside each replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from strategy_profiles.reporting import units
from strategy_profiles.run.topology import replicas_of
from strategy_profiles.tables.columns import of_segment
from strategy_replay.scaling.errors import PredictionError

if TYPE_CHECKING:
    from strategy_profiles.run.events import SegmentOpened
    from strategy_profiles.tables.store import Profile


def check_variable_copies(profile: Profile, segment: SegmentOpened) -> None:
    """Raise PredictionError if replicas are known to read variables of another device.

    A run whose placement was not recorded passes.
    """
    rows = of_segment(profile.table("placement"), segment.segment)
    rows = rows.filter(pc.equal(rows["kind"], "variable"))
    holds = set(zip(rows["worker"].to_pylist(), rows["device"].to_pylist(), strict=True))
    without = sum(
        (worker, segment.replica_devices[replica]) not in holds
        for worker in {worker for worker, _ in holds}
        for replica in replicas_of(segment, worker)
    )
    if without:
        raise PredictionError(
            f"{units.counted(without, 'replica')} of {profile.name} had no copy of the variables "
            "on their device: how a step depends on the number of replicas is not modelled then",
            advice="Record a strategy that copies the variables to each replica, such as mirrored",
        )
