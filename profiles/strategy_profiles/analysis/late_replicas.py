"""Which late replicas the lab's own delays explain, and how pages say that a replica is late.

The finding of a segment and the sentence above a run that goes on say the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from strategy_profiles.analysis.stragglers import NOTICEABLE_MS, ReplicaLateness, Stragglers
from strategy_profiles.reporting import units

EXPLAINED_WITHIN = 0.25
"""An injected delay explains a lateness that differs from it by at most this share."""


def explained_by_delay(lateness: Stragglers, delays_ms: Mapping[int, float]) -> dict[int, float]:
    """Return the injected delay of each late replica that it explains, by replica."""
    expected_ms = expected_by_delay(lateness, delays_ms)
    return {
        item.replica: delays_ms[item.replica]
        for item in lateness.late
        if item.replica in expected_ms and _explains(expected_ms[item.replica], item.late_ms)
    }


def expected_by_delay(lateness: Stragglers, delays_ms: Mapping[int, float]) -> dict[int, float]:
    """Return how late the injected delay alone makes each late replica that has one.

    A delay counts by how much it is longer than those of the replicas that are on time.
    """
    late = {item.replica for item in lateness.late}
    on_time = [delays_ms.get(r.replica, 0.0) for r in lateness.replicas if r.replica not in late]
    usual_ms = min(on_time, default=0.0)
    return {replica: delays_ms[replica] - usual_ms for replica in late & delays_ms.keys()}


def _explains(expected_ms: float, late_ms: float) -> bool:
    most = max(NOTICEABLE_MS, EXPLAINED_WITHIN * expected_ms)
    return expected_ms > 0 and late_ms - expected_ms <= most


def lateness_of(item: ReplicaLateness, injected_ms: float | None) -> str:
    """`replica 2 is late by 30.1 ms`, or that the injected delay makes it late."""
    if injected_ms is None:
        return f"{item.name} is late by {units.milliseconds(item.late_ms)}"
    return f"{item.name} is late because of the injected delay of {injected_ms:g} ms"


def who_waits(lateness: Stragglers) -> str:
    """`the others wait`; of two replicas, `replica 0 waits`."""
    late = {item.replica for item in lateness.late}
    on_time = [item for item in lateness.replicas if item.replica not in late]
    if len(lateness.replicas) == 2 and len(on_time) == 1:
        return f"{on_time[0].name} waits"
    return "the others wait"
