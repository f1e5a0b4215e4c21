"""Parameter servers in the summary of a segment."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from strategy_profiles.analysis.parameter_server import parameter_serving
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile

Json = dict[str, Any]


def serving_summary(profile: Profile, segment: SegmentOpened) -> Json:
    """`parameter_servers`: None, with its reason, where a segment has none."""
    serving = parameter_serving(profile, segment)
    if serving.reason:
        return {"parameter_servers": None, "parameter_servers_reason": serving.reason}
    workers = []
    for item in serving.workers:
        row = asdict(item)
        phases = row.pop("phases_ms")
        row |= {f"{name}_ms": value for name, value in phases.items()}
        missing = [name for name, value in row.items() if value is None]
        reason = "not recorded by this worker's steps, or the clocks cannot be compared"
        workers.append(row | {f"{name}_reason": reason for name in missing})
    return {
        "parameter_servers": {
            "workers": workers,
            "servers": [asdict(item) for item in serving.servers],
            "variables": [asdict(item) for item in serving.variables],
            "absences": [asdict(item) for item in serving.absences],
            "feed": serving.feed,
            "most_queued": int(serving.moments.queued.max()) if serving.moments else None,
            "most_in_flight": int(serving.moments.in_flight.max()) if serving.moments else None,
            **({} if serving.moments else {"most_queued_reason": serving.moments_reason}),
        }
    }
