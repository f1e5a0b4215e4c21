"""What limits a step whose input is slow?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Bar, Question
from strategy_contexts.lecture.recording import SLOW_INPUT
from strategy_profiles.analysis.breakdown import step_breakdown
from strategy_profiles.analysis.input_share import input_share
from strategy_profiles.errors import AnalysisError
from strategy_profiles.reporting import units
from strategy_profiles.tables.store import Profile

TITLE = "The devices wait for data"
RECORDING = SLOW_INPUT
READING_MS = SLOW_INPUT.spec["workload_options"]["read_ms"]
PHASES = {
    "compute": "it computes",
    "transfer": "it sends gradients",
    "input": "it waits for the batch",
    "wait": "it waits for other replicas",
}


def ask(recording: Profile) -> Question:
    segment = recording.segments[0]
    share = input_share(recording, segment.segment)
    if not share.share or share.mean_ms is None:
        raise AnalysisError("The recording does not tell how long its steps waited for a batch")
    rest_ms = share.mean_ms / share.share - share.mean_ms
    if share.share > 0.5:
        longest = "input"
    else:
        # Of a capture: its own steps wait less, because batches are read while it starts.
        split = step_breakdown(recording, segment)
        longest = max(PHASES, key=lambda p: 0.0 if p == "input" else split.mean_ms(p) or 0.0)
    return Question(
        text=f"It takes {READING_MS} ms to read a batch, and the model is small. What does a "
        f"replica of {segment.num_replicas} do for most of a step?",
        choices=tuple(PHASES.values()),
        right=list(PHASES).index(longest),
        evidence=f"A step waits {units.milliseconds(share.mean_ms)} for its batch, "
        f"{units.share(share.share)} of its time (measured).",
        why="The next batch is read while a step runs, but that hides no more than the step's own "
        "length. More or faster devices do not shorten such a step: reading in parallel does.",
        bars=(
            Bar(PHASES["input"], share.mean_ms, units.milliseconds(share.mean_ms), "input"),
            Bar("the rest of the step", rest_ms, units.milliseconds(rest_ms)),
        ),
    )
