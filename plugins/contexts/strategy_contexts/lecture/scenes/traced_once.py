"""How often does Python run inside a tf.function?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program, Trace
from strategy_contexts.lecture.traces import entries, line_with, step_of
from strategy_profiles.errors import AnalysisError

TITLE = "Contexts are a fact of tracing"
RECORDING = Program("tracing_and_steps")
TIMES = {1: "once", 2: "twice", 3: "3 times", 6: "6 times"}


def ask(recording: Trace) -> Question:
    entered = entries(recording, "enter replica")
    if len(entered) not in TIMES:
        raise AnalysisError(f"step ran {len(entered)} times, which is not a choice")
    phases = " and ".join(sorted({entry["phase"] for entry in entered}))
    replicas = len({entry["replica"] for entry in entered})
    return Question(
        text="A tf.function is called 3 times on 2 replicas. How often does Python run step?",
        choices=tuple(TIMES.values()),
        right=list(TIMES).index(len(entered)),
        evidence=f"step ran {TIMES[len(entered)]} for {replicas} replicas, while {phases}.",
        why="Tracing runs the Python code of each replica and keeps a graph. Later calls run the "
        "graph: no Python, no context, no switch.",
        line=line_with(recording, "def step"),
        step=step_of(recording, entered[0]),
    )
