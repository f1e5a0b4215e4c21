"""In which context does a merge function run?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program, Trace
from strategy_contexts.lecture.traces import entries, line_with, step_of

TITLE = "All replicas hand over to one function"
RECORDING = Program("merge_call")
CONTEXTS = ("default", "cross-replica", "replica", "update")


def ask(recording: Trace) -> Question:
    line = line_with(recording, "return strategy.reduce")
    calls = [each for each in entries(recording, "reduce") if each["source"]["line"] == line]
    context = calls[0]["context"]
    times = "once" if len(calls) == 1 else f"{len(calls)} times"
    return Question(
        text=f"Two replicas call merge_call. In which context does line {line} run?",
        choices=tuple(f"{name} context" for name in CONTEXTS),
        right=CONTEXTS.index(context),
        evidence=f"Line {line} ran {times}, in {context} context.",
        why="merge_call stops every replica and hands the values of all to one function: "
        "it belongs to no replica.",
        line=line,
        step=step_of(recording, calls[0]),
    )
