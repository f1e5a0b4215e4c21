"""A lecture of two questions, without recordings."""

from __future__ import annotations

import pytest

from strategy_contexts.lecture.course import Scene
from strategy_contexts.lecture.lecture import Lecture
from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program
from strategy_contexts.lecture.shown import EvaluatedScene
from strategy_profiles.errors import LabError
from tests.e2e.conftest import open_page, server, warm_contexts

__all__ = ["open_page", "server", "warm_contexts"]


def question(name: str) -> Question:
    return Question(f"{name}?", ("a", "b", "c"), 1, "It is b.", "Because.")


SCENES = tuple(
    Scene(name, name.title(), Program("update"), lambda _: question("x")) for name in ("one", "two")
)


def recorded(scene: Scene) -> EvaluatedScene:
    return EvaluatedScene(question(scene.name), "Recorded.", lambda: "picture")


def no_live(_scene: Scene) -> EvaluatedScene:
    raise LabError("No process can be started")


@pytest.fixture
def lecture() -> Lecture:
    return Lecture(SCENES, recorded, no_live)
