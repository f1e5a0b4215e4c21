"""How often does the function of an update run, and where?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program, Trace
from strategy_contexts.lecture.traces import entries, line_with, step_of

TITLE = "An update runs beside each copy"
RECORDING = Program("update")


def ask(recording: Trace) -> Question:
    update = entries(recording, "update")[0]
    copies = len(update["values_in"][0][1]["components"])
    runs = [each for each in entries(recording, "enter update") if each["parent"] == update["seq"]]
    replicas = sorted({entry["replica"] for entry in runs})
    beside = ", ".join(f"that of replica {replica}" for replica in replicas)
    return Question(
        text="update gets a variable and a function. On 2 replicas, how often does one call of "
        "update run the function?",
        choices=(
            "once, for all copies",
            "once for each copy",
            "on one copy, then it is sent",
        ),
        right=1 if len(replicas) == copies else 0 if len(runs) == 0 else 2,
        evidence=f"It ran {len(runs)} times for {copies} copies: beside {beside}.",
        why="Each copy is changed on its own device, so the new value does not travel.",
        line=line_with(recording, "update(variable"),
        step=step_of(recording, runs[0]) if runs else None,
    )
