"""The live view of one run: a canvas that follows the run by itself, whatever the page does."""

from __future__ import annotations

from app.components.packaged import Packaged
from profiles.definitions import hover_texts
from profiles.palette import PHASE_COLOURS, REPLICA_COLOURS
from profiles.schema import CATEGORIES

_live = Packaged("live")


def live_view(run_id: str) -> None:
    """Show the run; its data come by the lab's own WebSocket, not through Streamlit."""
    _live(
        key="live",
        data={
            "run": run_id,
            "phases": list(CATEGORIES),
            "phaseColours": PHASE_COLOURS,
            "replicaColours": list(REPLICA_COLOURS),
            "definitions": hover_texts(),
        },
    )
