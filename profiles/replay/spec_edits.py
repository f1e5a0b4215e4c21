"""Which edit of a step is the same as a change of the RunSpec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strategy_lab.profiles.replay.edits import Edit, RemoveDelay


def edit_of(changes: Mapping[str, Any]) -> Edit | None:
    """Return the edit that predicts these changes (values by dotted path); None if there is none.

    Another batch, algorithm or number of devices changes which ops run, and an edit only changes
    how long they take.
    """
    is_without_delays = set(changes) == {"inject"} and not changes["inject"]
    return RemoveDelay() if is_without_delays else None
