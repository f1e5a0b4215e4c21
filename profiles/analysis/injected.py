"""Which delays did the lab itself put into a segment's replicas? Its spec says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_lab.profiles import units

if TYPE_CHECKING:
    from strategy_lab.profiles.events import SegmentOpened


def injected_delays(segment: SegmentOpened) -> dict[int, float]:
    """Milliseconds by replica, numbered over all workers; empty for a program's own run."""
    planned = segment.spec.get("inject")
    per_worker = segment.num_replicas // max(1, segment.num_workers)
    found = {}
    for delay in planned if isinstance(planned, list) else []:
        if not isinstance(delay, dict):
            continue
        replica, worker, ms = (delay.get(name, 0) for name in ("replica", "worker", "ms"))
        if isinstance(replica, int) and isinstance(worker, int) and isinstance(ms, int | float):
            found[worker * per_worker + replica] = float(ms)
    return {replica: ms for replica, ms in found.items() if ms > 0}


def injected_sentence(delays_ms: dict[int, float]) -> str:
    """`The lab injected 60.0 ms into replica 0 and 30.0 ms into replica 2.`"""
    parts = [f"{units.milliseconds(ms)} into replica {r}" for r, ms in sorted(delays_ms.items())]
    return f"The lab injected {units.listed(parts)}."
