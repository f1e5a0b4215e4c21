"""How long would a step be without the straggler?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Bar, Question, nearest
from strategy_contexts.lecture.recording import STRAGGLER
from strategy_profiles.errors import AnalysisError
from strategy_profiles.replay.usual_edits import without_straggler
from strategy_profiles.reporting import units
from strategy_profiles.tables.store import Profile

TITLE = "What the late replica costs"
RECORDING = STRAGGLER
SHARES = {1.0: "as long as now", 0.75: "three quarters", 0.5: "half", 0.25: "a quarter"}


def ask(recording: Profile) -> Question:
    predicted = without_straggler(recording, recording.segments[0].segment)
    if predicted is None:
        raise AnalysisError("The recording has no straggler that a replay could remove")
    now, then = (
        units.milliseconds(predicted.measured_ms),
        units.milliseconds(predicted.predicted_ms),
    )
    low, high = units.milliseconds(predicted.low_ms), units.milliseconds(predicted.high_ms)
    return Question(
        text=f"One of {recording.segments[0].num_replicas} replicas is late, and a step takes "
        f"{now}. How long would it be if that replica were as fast as the others?",
        choices=tuple(SHARES.values()),
        right=nearest(predicted.predicted_ms / predicted.measured_ms, tuple(SHARES)),
        evidence=f"{now} measured; {then} predicted ({low} to {high}), by a replay of "
        f"{predicted.num_steps} captured steps {predicted.edits[0]}.",
        why="All replicas step together, so the slowest one sets the pace: its delay is paid by "
        "all, not by one of them.",
        bars=(
            Bar("measured", predicted.measured_ms, now),
            Bar("predicted", predicted.predicted_ms, then),
        ),
    )
