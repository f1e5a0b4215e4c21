"""What happens if one replica makes a call that the others do not make?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program, Trace
from strategy_contexts.lecture.traces import entries, line_with, step_of

TITLE = "Replicas make the same calls"
RECORDING = Program("unequal_merge_calls")


def ask(recording: Trace) -> Question:
    error, called = recording["error"], entries(recording, "merge_call")
    if error:
        evidence = f"{error['type']}: {error['message']}"
    else:
        evidence = f"merge_call ran on {len(called)} of 2 replicas, without an error."
    return Question(
        text="Only replica 0 calls merge_call. What does MirroredStrategy do?",
        choices=(
            "merges one value",
            "calls it for both replicas",
            "raises an error",
        ),
        right=2 if error else 0 if len(called) == 1 else 1,
        evidence=evidence,
        why="A merge needs the values of all replicas. A condition that depends on the replica "
        "must not decide whether the replica takes part.",
        line=line_with(recording, "context.merge_call"),
        step=step_of(recording, called[0], "leave"),
    )
