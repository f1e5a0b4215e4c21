"""How long is the first step?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Bar, Question, nearest
from strategy_contexts.lecture.recording import MIRRORED
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.errors import AnalysisError
from strategy_profiles.reporting import units
from strategy_profiles.tables.store import Profile

TITLE = "The first step is another one"
RECORDING = MIRRORED
TIMES = {1: "the same", 3: "3 times as long", 10: "10 times as long", 50: "50 times or more"}
SHOWN = 6


def ask(recording: Profile) -> Question:
    times = step_times(recording, recording.segments[0].segment)
    if times.median_ms is None or times.first_step_ms is None:
        raise AnalysisError(times.why_no_time)
    ratio = times.first_step_ms / times.median_ms
    first, usual = units.milliseconds(times.first_step_ms), units.milliseconds(times.median_ms)
    return Question(
        text=f"A step takes {usual}. How long was the first one?",
        choices=tuple(TIMES.values()),
        right=nearest(min(ratio, max(TIMES)), tuple(TIMES)),
        evidence=f"The first step took {first}, {units.number(ratio, 2)} times the median of "
        f"{times.timed_ms.size} others (measured).",
        why="The first call traces the Python code of every replica and optimizes the graph. A "
        "median that counts it is wrong, and so is a benchmark of one step.",
        bars=tuple(
            Bar(f"step {step}", float(ms), units.milliseconds(float(ms)))
            for step, ms in list(zip(times.step.tolist(), times.wall_ms, strict=True))[:SHOWN]
        ),
    )
