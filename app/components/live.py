"""The live view of one run: a canvas that follows the run without reruns of the page."""

from __future__ import annotations

from strategy_lab.app.components.packaged import Packaged
from strategy_lab.profiles.reporting.definitions import hover_texts
from strategy_lab.profiles.reporting.glossary import TERMS
from strategy_lab.profiles.reporting.palette import (
    PHASE_COLOURS,
    REPLICA_COLOURS,
    SERVING_COLOURS,
)
from strategy_lab.profiles.tables.schema import CATEGORIES
from strategy_lab.profiles.tables.served_tables import SERVED_PARTS

_live = Packaged("live")


def live_view(run_id: str, *, can_kill: bool = False) -> int | None:
    """Show the run; its data come by the lab's own WebSocket, not through Streamlit.

    Returns the number of the process that was just asked to be killed. Only where `can_kill` is
    that asked at all.
    """
    result = _live(
        key="live",
        on_kill_change=lambda: None,
        data={
            "run": run_id,
            "canKill": can_kill,
            "phases": list(CATEGORIES),
            "phaseColours": PHASE_COLOURS,
            "servedParts": list(SERVED_PARTS),
            "servedColours": SERVING_COLOURS,
            "replicaColours": list(REPLICA_COLOURS),
            "definitions": hover_texts() | TERMS,
        },
    )
    asked = getattr(result, "kill", None)
    return asked if type(asked) is int else None
