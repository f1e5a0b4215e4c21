"""Agents get the documents that the command line shows, with gains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import strategy_profiles
from strategy_mcp.answers import ALL, Answers
from strategy_profiles import predictors
from strategy_profiles.analysis.facts import Finding, Gain
from strategy_profiles.analysis.summary import summarize
from strategy_profiles.tables.store import Profile
from tests.synthetic import write_run

GAIN = Gain(
    step_ms=17.0,
    low_ms=16.0,
    high_ms=18.0,
    measured_ms=47.0,
    error=0.01,
    times_examples=1.0,
    is_bound=False,
    is_within_error=False,
    sentence="Without it a step takes 17 ms",
)
REASON = "No edit removes it."


@pytest.fixture
def late(tmp_path: Path) -> Path:
    """A run with a straggler."""
    return write_run(tmp_path / "late", replicas=2, steps=60, straggler=(1, 30.0))


def test_an_agent_gets_the_summary_and_its_key_numbers(late: Path) -> None:
    summary = json.loads(json.dumps(summarize(strategy_profiles.load(late))))
    agents = Answers(late.parent)
    assert agents.summary("late", [ALL]) == summary
    key_numbers = agents.findings("late")["segments"][-1]["key_numbers"]
    assert key_numbers == summary["segments"][-1]["key_numbers"]


def test_an_agent_gets_the_gain_of_each_finding(
    late: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gain_of(_profile: Profile, finding: Finding) -> Gain | str:
        return GAIN if finding.key == "straggler" else REASON

    monkeypatch.setattr(predictors, "gain_of", gain_of)
    (segment,) = Answers(late.parent).findings("late")["segments"]
    by_key = {item["key"]: item for item in segment["findings"]}
    assert by_key["straggler"]["gain"]["sentence"] == GAIN.sentence
    assert by_key["straggler"]["gain"]["low_ms"] == 16.0
    others = [item for key, item in by_key.items() if key != "straggler"]
    assert {(item["gain"], item["gain_reason"]) for item in others} <= {(None, REASON)}
