"""What a real TPU would do with the step is part of the run, of its summary and of its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_profiles.analysis.tpu_check import tpu_check
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import EPOCH_NS, write_run

FINDING = {
    "outcome": "refused",
    "op": "Fill",
    "name": "zeros",
    "reason": "a shape depends on values that are only known during the step",
    "advice": "Use a size that is known when the function is traced",
    "file": "/home/me/model.py",
    "line": 12,
    "code": "return tf.zeros([n])",
    "count": 2,
    "is_asked_for": False,
}


def check_event(**fields: Any) -> str:
    """A line of events: the check of segment 0, with one finding and nothing unchecked."""
    event = {
        "kind": "tpu_check",
        "at_ns": EPOCH_NS,
        "segment": 0,
        "findings": [FINDING],
        "unchecked": [],
        "num_ops": 40,
        "lookup_ms": 1.5,
        "lowering_ms": 20.0,
    }
    return json.dumps(event | fields) + "\n"


def _run(folder: Path, line: str) -> strategy_profiles.Profile:
    run = write_run(folder, strategy="tpu", replicas=2, steps=20)
    with worker_folder(run, 0, 0).events.open("a") as log:
        log.write(line)
    return strategy_profiles.load(run)


def test_findings_of_the_tpu_check_are_in_the_summary(tmp_path: Path) -> None:
    profile = _run(tmp_path / "run", check_event(unchecked=["the rest of the step"]))
    (segment,) = profile.summary()["segments"]
    assert segment["tpu_check"] == {
        "findings": [FINDING],
        "unchecked": ["the rest of the step"],
        "num_ops": 40,
        "lookup_ms": 1.5,
        "lowering_ms": 20.0,
    }
    (finding,) = tpu_check(profile, profile.segments[0]).of("refused")
    assert (finding.op, finding.where) == ("Fill", "/home/me/model.py:12")


@pytest.mark.parametrize("damage", [{"outcome": "odd"}, {"op": 3}, {"advice": None}])
def test_a_damaged_check_is_left_out_with_a_note(tmp_path: Path, damage: dict[str, object]) -> None:
    profile = _run(tmp_path / "run", check_event(findings=[FINDING | damage]))
    summary = profile.summary()
    assert summary["segments"][0]["tpu_check"] is None
    assert summary["notes"]


def test_a_check_that_was_switched_off_says_so(tmp_path: Path) -> None:
    line = check_event(findings=[], reason="the check is switched off")
    (segment,) = _run(tmp_path / "run", line).summary()["segments"]
    assert segment["tpu_check"] is None
    assert segment["tpu_check_reason"] == "the check is switched off"


def test_without_a_check_there_is_a_reason(tmp_path: Path) -> None:
    (segment,) = _run(tmp_path / "run", "").summary()["segments"]
    assert segment["tpu_check"] is None
    assert "before its first step was done" in segment["tpu_check_reason"]
