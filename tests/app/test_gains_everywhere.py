"""Overview and command line show the same sentence on a finding's gain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strategy_core.cli.main import main
from strategy_profiles import predictors
from strategy_profiles.analysis.facts import Finding, Gain
from strategy_profiles.tables.store import Profile
from tests.app.looking import open_page, text_of
from tests.synthetic import write_run

SENTENCE = "Without it the median captured step takes 17 ms instead of 47 ms"
GAIN = Gain(17.0, 16.0, 18.0, 47.0, 0.01, 1.0, False, False, SENTENCE)
REASON = "No edit removes it."


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with a straggler; the prediction is pretended, as made-up runs have no graph."""

    def gain_of(_profile: Profile, finding: Finding) -> Gain | str:
        return GAIN if finding.key == "straggler" else REASON

    monkeypatch.setattr(predictors, "gain_of", gain_of)
    return write_run(tmp_path / "late", replicas=2, steps=60, straggler=(1, 30.0))


def test_the_overview_adds_it_below_its_finding(late: Path) -> None:
    text = text_of(open_page("overview", late.parent, run="late"))
    assert text.count(SENTENCE) == 1


def test_the_command_line_predicts_only_if_asked(
    late: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", str(late), "--gains"]) == 0
    assert SENTENCE in " ".join(capsys.readouterr().out.split())
    assert main(["summary", str(late)]) == 0
    assert SENTENCE not in " ".join(capsys.readouterr().out.split())
    assert main(["summary", str(late), "--json"]) == 0
    (segment,) = json.loads(capsys.readouterr().out)["segments"]
    late_one = next(item for item in segment["findings"] if item["key"] == "straggler")
    assert late_one["gain"] is None
    assert "--gains" in late_one["gain_reason"]
