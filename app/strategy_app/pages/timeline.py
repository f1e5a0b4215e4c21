"""The timeline: every captured op of every replica, in time, of all workers on one clock."""

from __future__ import annotations

from strategy_app.components.timeline import timeline_view
from strategy_app.widgets.clocks import show_clocks
from strategy_app.widgets.empty import empty
from strategy_app.widgets.links import open_page
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.step_chart import has_timeline
from strategy_profiles.analysis.no_capture import why_no_capture

opened = run_page("timeline", shows="each op of captured steps in time, replica by replica")
if opened is not None and opened.profile.status.is_over and not has_timeline(opened):
    empty(*why_no_capture(opened.profile))
elif opened is not None:
    run = opened.profile.path.name
    step = timeline_view(run, has_spans=has_timeline(opened))
    if step is not None:
        open_page("overview", run, step)
    show_clocks(opened)
