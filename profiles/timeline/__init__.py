"""The timeline of a run: spans are laid out on rows once, then reduced to what a view can show.

No drawing and no HTTP: `app.server` sends a view, and `app/frontend/timeline` draws it.
"""

from strategy_lab.profiles.timeline.flows import Flow, flows_of
from strategy_lab.profiles.timeline.layout import Timeline, Track, lay_out
from strategy_lab.profiles.timeline.opening import Opening, Place, lay_out_opening
from strategy_lab.profiles.timeline.search import find_spans
from strategy_lab.profiles.timeline.selection import Selection, select
from strategy_lab.profiles.timeline.view import View, cut_view

__all__ = [
    "Flow",
    "Opening",
    "Place",
    "Selection",
    "Timeline",
    "Track",
    "View",
    "cut_view",
    "find_spans",
    "flows_of",
    "lay_out",
    "lay_out_opening",
    "select",
]
