"""The timeline: every captured op of every replica, in time, of all workers on one clock."""

from __future__ import annotations

from strategy_lab.app.components.timeline import timeline_view
from strategy_lab.app.widgets.clocks import show_clocks
from strategy_lab.app.widgets.picker import run_page

opened = run_page("Timeline")
if opened is not None:
    timeline_view(opened.profile.path.name)
    show_clocks(opened)
