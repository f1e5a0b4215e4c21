"""The live view of one run: a canvas that follows the run without reruns of the page."""

from __future__ import annotations

from typing import NamedTuple

from strategy_app.components.packaged import Packaged
from strategy_profiles.reporting.definitions import DEFINITIONS, hover_texts
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.reporting.palette import (
    GREY,
    PHASE_COLOURS,
    PHASE_NAMES,
    REPLICA_COLOURS,
    SERIES_COLOUR,
    SERVING_COLOURS,
)
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.served_tables import SERVED_PARTS

_live = Packaged("live")


class ViewerRequest(NamedTuple):
    """The controls that the viewer just used."""

    kill: int | None
    """The number of a process to kill; offered only if `can_kill`."""
    step: int | None
    """A step to show on the timeline."""


def live_view(run_id: str, *, can_kill: bool = False, is_over: bool = False) -> ViewerRequest:
    """Show the run; its data come by the lab's own WebSocket, not through Streamlit."""
    result = _live(
        key="live",
        on_kill_change=lambda: None,
        on_step_change=lambda: None,
        data={
            "run": run_id,
            "canKill": can_kill,
            "isOver": is_over,
            "phases": list(CATEGORIES),
            "phaseColours": PHASE_COLOURS,
            "phaseNames": PHASE_NAMES,
            "servedParts": list(SERVED_PARTS),
            "servedColours": SERVING_COLOURS,
            "replicaColours": list(REPLICA_COLOURS),
            "seriesColour": SERIES_COLOUR,
            "bandColour": GREY,
            "definitions": hover_texts() | TERMS,
            "labels": {key: definition.label for key, definition in DEFINITIONS.items()},
        },
    )
    kill, step = (getattr(result, name, None) for name in ViewerRequest._fields)
    return ViewerRequest(kill if type(kill) is int else None, step if type(step) is int else None)
