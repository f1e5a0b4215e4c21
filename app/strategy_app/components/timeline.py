"""The timeline of one run: a canvas that asks the server for what its visible range can show."""

from __future__ import annotations

from strategy_app.components.packaged import Packaged
from strategy_profiles.reporting.palette import (
    PHASE_COLOURS,
    PHASE_NAMES,
    REPLICA_COLOURS,
    SPAN_COLOURS,
)
from strategy_profiles.tables.schema import CATEGORIES

_timeline = Packaged("timeline")


def timeline_view(run_id: str, *, has_spans: bool) -> int | None:
    """Show the spans of the run; they come by the lab's own routes, not through Streamlit.

    Args:
      has_spans: whether the canvas has its place before they come.

    Returns the step that the viewer just asked to see on the page Why.
    """
    result = _timeline(
        key="timeline",
        on_step_change=lambda: None,
        data={
            "run": run_id,
            "hasSpans": has_spans,
            "colours": SPAN_COLOURS,
            "names": PHASE_NAMES,
            "replicaColours": list(REPLICA_COLOURS),
            "phases": list(CATEGORIES),
            "phaseColours": PHASE_COLOURS,
        },
    )
    step = getattr(result, "step", None)
    return step if type(step) is int else None
