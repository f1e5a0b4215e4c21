"""A scene's question and its answer, computed from one recording."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from strategy_profiles.errors import AnalysisError


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of the evidence. `text` is its value with the unit."""

    label: str
    value: float
    text: str
    phase: str = ""
    """The phase of the step that it measures, which gives its colour; empty if none."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a scene asks. The choices are the same for each recording of the scene, so that answers
    given before a live run count for it, too."""

    text: str
    choices: tuple[str, ...]
    right: int
    """Index of the right choice."""
    evidence: str
    """The sentence of the recording that decides."""
    why: str
    line: int | None = None
    """The line of the program that the question is about."""
    step: int | None = None
    """The step of the context viewer that shows the evidence, counted from 1."""
    bars: tuple[Bar, ...] = ()


def nearest(value: float, of: Sequence[float]) -> int:
    """Return the index of the factor that is nearest to `value` by ratio."""
    if value <= 0:
        raise AnalysisError("The recording has no such length or size")
    return min(range(len(of)), key=lambda index: abs(math.log(value / of[index])))
