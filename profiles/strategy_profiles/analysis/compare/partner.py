"""Which run to compare a run with, if none was chosen: the newest one that says something."""

from __future__ import annotations

from strategy_profiles.analysis.compare.run_time import MIN_STEPS, time_of_segment
from strategy_profiles.reporting import units
from strategy_profiles.tables.store import Profile

COMPLETE = ("finished", "stopped")
"""States of a run that ended as it was meant to, by itself or by Stop."""
_STATES = {
    "failed": "it failed",
    "running": "it is still running",
    "incomplete": "its record is cut off",
}


def why_no_partner(run: Profile) -> str | None:
    """Why a run is not offered for a comparison; None if it can be compared."""
    if run.status.state not in COMPLETE:
        return _STATES[run.status.state]
    most = 0
    for opened in run.segments:
        time = time_of_segment(run, opened)
        most = max(most, time.num_steps if time else 0)
    if most < MIN_STEPS:
        return f"it has {units.counted(most, 'steady step')}, and {MIN_STEPS} are the least"
    return None
