"""The timeline of one run: a canvas that asks the server for what its visible range can show."""

from __future__ import annotations

from strategy_lab.app.components.packaged import Packaged
from strategy_lab.profiles.reporting.palette import REPLICA_COLOURS, SPAN_COLOURS

_timeline = Packaged("timeline")


def timeline_view(run_id: str) -> None:
    """Show the spans of the run; they come by the lab's own routes, not through Streamlit."""
    _timeline(
        key="timeline",
        data={
            "run": run_id,
            "colours": SPAN_COLOURS,
            "replicaColours": list(REPLICA_COLOURS),
        },
    )
