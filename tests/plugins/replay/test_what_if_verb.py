"""`strategy-lab what-if` on a real run: prediction and error, or why there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strategy_core.cli.main import main

pytestmark = pytest.mark.run
LAST = 1
"""The segment that is replayed."""


def test_the_command_prints_prediction_and_error(
    finished_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", str(finished_run), "--faster", "compute=2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["segment"] == LAST
    assert answer["low_ms"] <= answer["predicted_ms"] <= answer["high_ms"]
    assert 0 <= answer["replay_error"] < 1
    assert main(["what-if", str(finished_run), "--faster", "compute=2"]) == 0
    assert "Replay error" in capsys.readouterr().out


def test_the_command_refuses_what_was_not_recorded(
    finished_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", str(finished_run), "--remove-delay"]) == 2
    assert "No injected delay was recorded" in capsys.readouterr().err
