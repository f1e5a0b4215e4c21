"""No text of a run steers the terminal: not in a refusal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from strategy_core.cli.main import main
from strategy_core.tracing.waiting_folder import open_log
from strategy_profiles.run.events import Failed
from strategy_profiles.run.manifest import WAITS, create_run_file

STEERING = "\x1b]0;title\x07\x1b[2J\u202e\x9b31m"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that waits, as a stranger's folder has it."""
    run = tmp_path / f"runs/waits{STEERING}"
    create_run_file(run, recorded_by=WAITS)
    monkeypatch.setattr(sys, "orig_argv", ["python", STEERING])
    open_log(run).close()
    return run


@pytest.mark.parametrize(
    "command",
    [["summary", f"{STEERING}/RUN"], ["change", "RUN", "--stop"]],
    ids=lambda command: command[0],
)
def test_a_refusal_has_no_control_characters(
    run: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    log = open_log(run)
    log.write(Failed(f"it ended: {STEERING}"))
    log.close()
    assert main([word.replace("RUN", str(run)) for word in command]) == 2
    check_no_control_characters(capsys)


def check_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    output = "".join(capsys.readouterr())
    assert "\N{REPLACEMENT CHARACTER}" in output
    assert all(char.isprintable() or char == "\n" for char in output), ascii(output)
