"""A program that is killed while a capture waits for its conversion loses no capture."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import strategy_profiles
from strategy_core.cli.main import main
from strategy_core.processes.import_path import with_own_code
from strategy_profiles.analysis.no_capture import why_no_capture
from tests.foreign.both_ways import PROGRAMS
from tests.processes import command_of
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = [pytest.mark.tf, pytest.mark.run]


def killed(folder: Path, *arguments: str) -> Path:
    """The run of a traced program that has killed itself, or its parent first."""
    program = [str(PROGRAMS / "killed_before_conversion.py"), "run", *arguments]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "strategy_core", "trace", "-o", "run", *program],
        cwd=folder, env=with_own_code(os.environ), capture_output=True, text=True, check=False,
        timeout=MAX_WAIT_S,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    run = folder / "run"
    end_stopped_converters(folder)
    wait_until(lambda: strategy_profiles.load(run).status.is_over)
    return run


def end_stopped_converters(folder: Path) -> None:
    """The program stops them, and a stopped process does not see that its parent has ended.

    Linux continues them only if their process group is orphaned just then, not if it was before, as
    in a shell without job control.
    """
    for process in psutil.process_iter():
        if "strategy_profiles.capture.helper" in command_of(process):
            with contextlib.suppress(psutil.Error):
                if Path(process.cwd()) == folder:
                    process.kill()


def test_the_command_that_waited_for_the_program_converts_it(tmp_path: Path) -> None:
    profile = strategy_profiles.load(killed(tmp_path))
    assert profile.status.message == "The program was ended by SIGKILL."
    assert profile.table("spans").num_rows > 0
    assert profile.notes == ()


def test_recover_converts_it_if_that_command_was_killed_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = killed(tmp_path, "parent")
    before = strategy_profiles.load(run)
    assert before.status.state == "incomplete"
    (note,) = before.notes
    assert f"strategy-lab recover {run} converts it" in note
    assert why_no_capture(before) == ("No capture of this run has been converted.", f"{note}.")
    assert main(["recover", str(run.rename(tmp_path / "renamed"))]) == 0
    assert capsys.readouterr().out == "worker-0-0/window-000000: converted\n"
    after = strategy_profiles.load(tmp_path / "renamed")
    assert (after.notes, after.status) == ((), before.status)
    assert after.table("spans").num_rows > 0
    assert main(["recover", str(after.path)]) == 0
    assert "No capture of" in capsys.readouterr().out
