"""What a step would gain without a finding: the rule's change of the step, predicted by a replay.

Page, report, command line and MCP server all ask here, so they show the same figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_profiles.analysis.facts import Facts, Finding, Gain
from strategy_profiles.analysis.findings import findings
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.replay.edits import Edit, Faster, InputFree, RemoveDelay
from strategy_profiles.replay.recording import ReplayError
from strategy_profiles.replay.replays import replays
from strategy_profiles.replay.sentences import finding_sentence
from strategy_profiles.replay.spec_edits import edit_of
from strategy_profiles.replay.straggler import average_straggler
from strategy_profiles.replay.what_if import predict

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

_OTHER_OPS = "A replay cannot predict this change: other ops would run."


def findings_with_gains(profile: Profile, facts: Facts) -> tuple[Finding, ...]:
    """Return the findings of a segment, each with its gain or the reason why it has none."""
    return findings(facts, lambda item: gain_of(profile, item))


def gain_of(profile: Profile, finding: Finding) -> Gain | str:
    """Return what a step would gain without a finding; a sentence if that cannot be predicted."""
    removal = finding.removal
    if isinstance(removal, str):
        return removal
    try:
        edit = edit_for(profile, finding.segment, removal)
        if edit is None:
            return _OTHER_OPS
        prediction = predict(replays(profile, finding.segment), [edit])
    except ReplayError as error:
        return str(error)
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
