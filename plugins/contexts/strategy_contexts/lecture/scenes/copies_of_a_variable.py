"""What do the replicas hold of a variable that is assigned once?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program, Trace
from strategy_contexts.lecture.traces import entries, line_with, step_of

TITLE = "A variable has a copy on each replica"
RECORDING = Program("scope_and_mirrored_variables")


def ask(recording: Trace) -> Question:
    line = line_with(recording, "inside.assign")
    read = entries(recording, "experimental_local_results")[-1]
    copies = read["values_in"][0][1]["components"]
    values = [copy["value"] for copy in copies]
    shared, equal = len(copies) == 1, len({str(value) for value in values}) == 1
    held = ", ".join(f"replica {copy['replica']} holds {copy['value']}" for copy in copies)
    return Question(
        text=f"Two replicas. Line {line} assigns a variable of the scope once. "
        "What is there afterwards?",
        choices=(
            "one variable, shared",
            "two copies, one assigned",
            "two copies, both assigned",
        ),
        right=0 if shared else 2 if equal else 1,
        evidence=f"{held[0].upper()}{held[1:]}.",
        why="The strategy makes one copy on each replica's device, so that reading needs no "
        "transfer, and writes every copy, so that they stay equal.",
        line=line,
        step=step_of(recording, entries(recording, "update")[0]),
    )
