"""A sweep in the terminal: short cells, reasons in a table of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_sweep.contest import NextRun
from strategy_sweep.results import results
from strategy_sweep.terminal import print_sweep
from strategy_sweep.verb import _tell_run
from tests.plugins.sweep.made_sweep import made_sweep, played

FAILED = "The file raised ValueError, whose message is as long as those of TensorFlow are (line 8)."


def rate(planned: NextRun) -> float | str:
    return FAILED if planned.configuration == 1 else 100.0 + planned.configuration


def test_the_reason_of_a_failure_is_below_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_sweep(results(played(made_sweep(3), rate)), tmp_path)
    output = capsys.readouterr().out
    table, _, rest = output.partition("Left out or stopped")
    (row,) = (line for line in table.splitlines() if line.startswith("│ batch 128 "))
    assert row.endswith(" failed  │")
    assert FAILED.rstrip(".") in " ".join(rest.replace("│", " ").split())


def test_a_failure_that_is_a_sentence_is_followed_by_the_time_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sweep = made_sweep(3)
    until = next(n for n in range(1, 4) if played(sweep, rate, n).runs[-1].failure)
    _tell_run(results(played(sweep, rate, until)))
    said = capsys.readouterr().err
    assert "(line 8); " in said
    assert "left" in said
