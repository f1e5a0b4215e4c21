"""The scenes in order, and what each asks of a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program, Run

ORDER = (
    "merge_call",
    "copies_of_a_variable",
    "update_beside_each_copy",
    "unequal_calls",
    "traced_once",
    "first_step",
    "bytes_of_a_ring",
    "central_variables",
    "slow_input",
    "who_waits",
    "without_the_straggler",
)


@dataclass(frozen=True, slots=True)
class Scene:
    """One scene. `ask` raises AnalysisError if a recording does not answer the question."""

    name: str
    title: str
    recording: Program | Run
    ask: Callable[[Any], Question]


def scenes() -> tuple[Scene, ...]:
    """Return the course, in order."""
    modules = (import_module(f"strategy_contexts.lecture.scenes.{name}") for name in ORDER)
    return tuple(
        Scene(name, module.TITLE, module.RECORDING, module.ask)
        for name, module in zip(ORDER, modules, strict=True)
    )
