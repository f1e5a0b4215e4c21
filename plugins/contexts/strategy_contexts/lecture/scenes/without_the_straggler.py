"""How long would a step be without the straggler?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Bar, Question, nearest
from strategy_contexts.lecture.recording import STRAGGLER
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.errors import AnalysisError
from strategy_profiles.predictors import gain_without
from strategy_profiles.reporting import units
from strategy_profiles.tables.store import Profile

TITLE = "What the late replica costs"
RECORDING = STRAGGLER
SHARES = {1.0: "as long as now", 0.75: "three quarters", 0.5: "half", 0.25: "a quarter"}


def ask(recording: Profile) -> Question:
    segment = recording.segments[0].segment
    predicted = gain_without(recording, segment, Removal("average-replica"))
    if isinstance(predicted, str):
        raise AnalysisError(f"No step without the straggler is predicted: {predicted}")
    now, then = units.milliseconds(predicted.measured_ms), units.milliseconds(predicted.step_ms)
    low, high = units.milliseconds(predicted.low_ms), units.milliseconds(predicted.high_ms)
    return Question(
        text=f"One of {recording.segments[0].num_replicas} replicas is late, and a step takes "
        f"{now}. How long would it be if that replica were as fast as the others?",
        choices=tuple(SHARES.values()),
        right=nearest(predicted.step_ms / predicted.measured_ms, tuple(SHARES)),
        evidence=f"{now} measured; {then} predicted ({low} to {high}), with that replica as fast "
        "as the mean of the others.",
        why="All replicas step together, so the slowest one sets the pace: its delay is paid by "
        "all, not by one of them.",
        bars=(
            Bar("measured", predicted.measured_ms, now),
            Bar("predicted", predicted.step_ms, then),
        ),
    )
