"""The error that ended a run, and its explanation if the run has no step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_profiles.analysis.failures.explain import Explained, explain
from strategy_profiles.run.events import Failed

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile


def failed_in(profile: Profile) -> Failed | None:
    """The error that the status of a failed run names; None if no process recorded it."""
    if profile.status.state != "failed":
        return None
    message = profile.status.message or ""
    events = [event for event in profile.events(Failed) if event.message in message]
    return events[-1] if events else None


def explained_without_steps(profile: Profile) -> Explained | None:
    """Why a run failed before its first step; None if it did not."""
    failed = None if profile.segments else failed_in(profile)
    return explain(failed, None) if failed else None
