"""The predictions that a page shows of every run, and the one beside a straggler's finding."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from strategy_profiles.replay.edits import Edit, Faster, InputFree, RemoveDelay
from strategy_profiles.replay.recording import ReplayError, why_no_replay
from strategy_profiles.replay.straggler import average_straggler
from strategy_profiles.replay.what_if import WhatIf, what_if

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile


def usual_what_ifs(profile: Profile, segment: int) -> tuple[WhatIf, ...]:
    """Return the predictions that the recording allows, the shortest step first.

    Raises ReplayError if the segment cannot be replayed.
    """
    what_if(profile, segment, [])
    predictions = []
    for edit in usual_edits(profile, segment):
        try:
            predictions.append(what_if(profile, segment, [edit]))
        except ReplayError:
            continue  # nothing of this kind was recorded
    return tuple(sorted(predictions, key=lambda item: item.predicted_ms))


def usual_edits(profile: Profile, segment: int) -> list[Edit]:
    """Return the edits to try; a recording may lack what one of them changes."""
    edits: list[Edit] = [
        RemoveDelay(),
        InputFree(),
        Faster("communication", float("inf")),
        Faster("compute", 2.0),
    ]
    with contextlib.suppress(ReplayError):  # no replica is late
        edits.append(average_straggler(profile, segment))
    return edits


def without_straggler(profile: Profile, segment: int) -> WhatIf | None:
    """Return the step with the straggler as fast as the others; None if that is not known."""
    if why_no_replay(profile, segment) is not None:
        return None
    try:
        return what_if(profile, segment, [average_straggler(profile, segment)])
    except ReplayError:
        return None
