"""What a step would gain without a finding: the change that its rule names, replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_profiles.analysis.facts import Gain
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.edits import Edit, Faster, InputFree, RemoveDelay
from strategy_replay.engine.replays import replays
from strategy_replay.engine.sentences import finding_sentence
from strategy_replay.engine.spec_edits import edit_of
from strategy_replay.engine.straggler import average_straggler
from strategy_replay.engine.what_if import predict

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

OTHER_OPS = "A replay cannot predict this change: other ops would run."


def gain_without(profile: Profile, segment: int, removal: Removal) -> Gain:
    """Return what a step would gain by a change; raises ReplayError if that is not predicted."""
    edit = edit_for(profile, segment, removal)
    if edit is None:
        raise ReplayError(OTHER_OPS)
    prediction = predict(replays(profile, segment), [edit])
    return Gain(
        step_ms=prediction.predicted_ms,
        low_ms=prediction.low_ms,
        high_ms=prediction.high_ms,
        measured_ms=prediction.measured_ms,
        error=prediction.replay_error,
        times_examples=prediction.times_examples,
        is_bound=removal.is_bound,
        is_within_error=prediction.is_within_error,
        sentence=finding_sentence(prediction, removal),
    )


def edit_for(profile: Profile, segment: int, removal: Removal) -> Edit | None:
    """Return the edit that removes the cause; None if none does.

    Raises ReplayError if the recording does not allow it.
    """
    match removal.change:
        case "no-delay":
            return RemoveDelay()
        case "average-replica":
            return average_straggler(profile, segment)
        case "free-input":
            return InputFree()
        case "free-ops":
            return Faster(removal.kind_of_op, float("inf"))
        case "spec":
            return edit_of(profile, segment, removal.changes)
