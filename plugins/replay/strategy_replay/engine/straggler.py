"""The edit that makes a segment's straggler as fast as the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_profiles.analysis.stragglers import stragglers
from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.edits import AverageReplica

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile


def average_straggler(profile: Profile, segment: int) -> AverageReplica:
    """Return the edit. Raises ReplayError if no replica is late."""
    waits = stragglers(profile, segment)
    if waits.straggler is None:
        raise ReplayError(
            f"No replica of segment {segment} is late"
            + (f": {waits.reason}" if waits.reason else ", so there is no straggler to remove")
        )
    return AverageReplica(waits.straggler.replica, waits.straggler.name)
