"""The timeline of a run: spans are laid out on rows once, then reduced to what a view can show."""

from strategy_lab.profiles.timeline.layout import Timeline, Track, lay_out
from strategy_lab.profiles.timeline.search import find_spans
from strategy_lab.profiles.timeline.view import View, cut_view

__all__ = ["Timeline", "Track", "View", "cut_view", "find_spans", "lay_out"]
