"""The scenes in order, and what each asks of a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program, Run
from strategy_profiles.predictors import predicts_gains

_PREDICTED = "without_the_straggler"
"""A scene whose answer is predicted: it is left out where no package predicts steps."""
_ORDER = (
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
    _PREDICTED,
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
    names = order()
    modules = (import_module(f"strategy_contexts.lecture.scenes.{name}") for name in names)
    return tuple(
        Scene(name, module.TITLE, module.RECORDING, module.ask)
        for name, module in zip(names, modules, strict=True)
    )


def order() -> tuple[str, ...]:
    """Return the names of the scenes of the course."""
    return tuple(name for name in _ORDER if name != _PREDICTED or predicts_gains())
