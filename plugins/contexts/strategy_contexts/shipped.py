"""Recordings that come with the lab: every demonstration under the default strategy, 2 replicas.

They are shown at once, without TensorFlow. `ship` records them again, as a test does to compare.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from strategy_contexts import course
from strategy_profiles.spec.run_spec import RunSpec

FOLDER = Path(__file__).parent / "recordings"
STRATEGY: str = RunSpec.model_fields["strategy"].default
DEVICES = "cpu:2"


def shipped(source: str, strategy: str, devices: str) -> dict[str, Any] | None:
    """The recording of a program that comes with the lab; None if it has to be recorded."""
    name = _names().get(source)
    if name is None or (strategy, devices) != (STRATEGY, DEVICES):
        return None
    recorded: dict[str, Any] = json.loads(file_of(name).read_text(encoding="utf-8"))
    title, text = course.headline(source)
    return {"title": title, "text": text, "source": source} | recorded


@cache
def _names() -> dict[str, str]:
    return {item.source: item.name for item in course.demonstrations()}


def file_of(name: str) -> Path:
    """The file of a demonstration's recording."""
    return FOLDER / f"{name}.json"
