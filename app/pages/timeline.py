"""The timeline: every captured op of every replica, in time, of all workers on one clock."""

from __future__ import annotations

from app.components.timeline import timeline_view
from app.parts.clocks import show_clocks
from app.parts.picker import run_page

opened = run_page("Timeline")
if opened is not None:
    timeline_view(opened.profile.path.name)
    show_clocks(opened)
