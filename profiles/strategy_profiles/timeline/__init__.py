"""The timeline of a run: spans are laid out on rows once, then reduced to what a view can show.

No drawing and no HTTP: `strategy_app.server` sends a view, and `app/strategy_app/frontend/timeline`
draws it.
"""

from strategy_profiles.timeline.flows import Flow, flows_of
from strategy_profiles.timeline.layout import Timeline, Track, lay_out
from strategy_profiles.timeline.opening import Opening, Place, lay_out_opening
from strategy_profiles.timeline.search import find_spans
from strategy_profiles.timeline.selection import Selection, select
from strategy_profiles.timeline.view import View, cut_view

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
