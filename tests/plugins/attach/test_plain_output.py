"""No text of a program that waits steers the terminal: not in a refusal, not in a list."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_core.cli.main import main
from strategy_core.tracing.waiting_folder import open_log
from strategy_profiles.run.events import Failed
from tests.strategy_core.cli.test_plain_output import STEERING, check_no_control_characters, run

__all__ = ["run"]


def test_the_list_of_programs_that_wait(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attach", "--runs", str(run.parent)]) == 0
    check_no_control_characters(capsys)


def test_a_refusal_has_no_control_characters(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = open_log(run)
    log.write(Failed(f"it ended: {STEERING}"))
    log.close()
    assert main(["attach", str(run)]) == 2
    check_no_control_characters(capsys)


def test_a_name_that_no_folder_can_have_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["attach", "a" * 300]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "aaaa...aaaa" in line
