"""The predictions that a page shows of every run."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.edits import Edit, Faster, InputFree, RemoveDelay
from strategy_replay.engine.straggler import average_straggler
from strategy_replay.engine.what_if import WhatIf, what_if

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
