"""Which replica waits if one is late?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Bar, Question
from strategy_contexts.lecture.recording import STRAGGLER
from strategy_profiles.analysis.breakdown import step_breakdown
from strategy_profiles.analysis.stragglers import stragglers
from strategy_profiles.errors import AnalysisError
from strategy_profiles.reporting import units
from strategy_profiles.tables.store import Profile

TITLE = "One replica is late"
RECORDING = STRAGGLER
LATE = STRAGGLER.spec["inject"][0]


def ask(recording: Profile) -> Question:
    segment = recording.segments[0]
    late = stragglers(recording, segment.segment).straggler
    waits = {
        each.replica: each.wait_ms
        for each in step_breakdown(recording, segment).replicas
        if each.wait_ms is not None
    }
    if late is None or not waits:
        raise AnalysisError("No replica stands out in the recording")
    waiting = {replica for replica, wait_ms in waits.items() if wait_ms > late.late_ms / 2}
    others = set(waits) - {LATE["replica"]}
    kinds = (waiting == {LATE["replica"]}, waiting == others, waiting == set(waits), not waiting)
    if not any(kinds):
        raise AnalysisError("No choice names the replicas that wait")
    return Question(
        text=f"Replica {LATE['replica']} of {segment.num_replicas} gets a delay of "
        f"{LATE['ms']} ms in each step. Which replicas wait?",
        choices=(
            f"replica {LATE['replica']}",
            "the other replicas",
            "all replicas",
            "none",
        ),
        right=kinds.index(True),
        evidence=f"{late.name.capitalize()} is late by {units.milliseconds(late.late_ms)} and was "
        f"last in {units.share(late.last_share)} of the steps (measured).",
        why="An all-reduce ends once the last replica has entered it. The others are done with "
        "their work and wait inside the call.",
        bars=tuple(
            Bar(f"replica {replica} waits", wait_ms, units.milliseconds(wait_ms), "wait")
            for replica, wait_ms in waits.items()
        ),
    )
