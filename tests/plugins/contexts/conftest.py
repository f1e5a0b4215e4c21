"""Fixtures of the page and of the browser, four virtual CPUs, and a lecture of two questions."""

from __future__ import annotations

import pytest

from strategy_contexts.lecture.course import Scene
from strategy_contexts.lecture.lecture import Lecture
from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program
from strategy_contexts.lecture.shown import EvaluatedScene
from strategy_profiles.errors import LabError
from tests.app.conftest import _labs_options, _no_head_start, _no_keras_to_clear, _one_scan
from tests.e2e.conftest import open_page, server, warm_contexts

__all__ = [
    "_labs_options",
    "_no_head_start",
    "_no_keras_to_clear",
    "_one_scan",
    "open_page",
    "server",
    "warm_contexts",
]


@pytest.fixture(autouse=True, scope="session")
def _devices(request: pytest.FixtureRequest) -> None:
    """Before all fixtures of narrower scope; not if no selected test needs TensorFlow."""
    if any(item.get_closest_marker("tf") for item in request.session.items):
        request.getfixturevalue("virtual_cpus")


@pytest.fixture(scope="session")
def virtual_cpus() -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    if not tf.config.get_logical_device_configuration(cpu):
        devices = [tf.config.LogicalDeviceConfiguration()] * 8
        tf.config.set_logical_device_configuration(cpu, devices)
    assert len(tf.config.list_logical_devices("CPU")) >= 4


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
