"""Which delays did the lab itself put into a segment's replicas? Its spec says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_lab.profiles.reporting import units

if TYPE_CHECKING:
    from strategy_lab.profiles.run.events import SegmentOpened


def injected_delays(segment: SegmentOpened) -> dict[int, float]:
    """Milliseconds by replica, numbered over all workers; empty for a program's own run."""
    per_worker = segment.num_replicas // max(1, segment.num_workers)
    found = {}
    for delay in segment.spec.get("inject", ()):
        found[delay.get("worker", 0) * per_worker + delay["replica"]] = float(delay["ms"])
    return {replica: ms for replica, ms in found.items() if ms > 0}


def injected_sentence(delays_ms: dict[int, float]) -> str:
    """`The lab injected 60.0 ms into replica 0 and 30.0 ms into replica 2.`"""
    parts = [f"{units.milliseconds(ms)} into replica {r}" for r, ms in sorted(delays_ms.items())]
    return f"The lab injected {units.listed(parts)}."
