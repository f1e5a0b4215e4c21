"""Ctrl-C while a run is started does not end the start midway: it stops the run."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from strategy_core.cli.main import main
from strategy_core.launcher.run_handle import RunHandle

INTERRUPTED = """
import sys

class Interrupts:
    def find_spec(self, name, *_):
        if name == "strategy_core.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
from strategy_core.__main__ import entry_point
entry_point()
"""


def test_a_command_that_is_interrupted_in_its_imports_prints_nothing() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(command, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


@pytest.mark.run
def test_a_run_that_is_being_started_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import strategy_profiles

    def interrupted(*args: object) -> RunHandle:
        signal.raise_signal(signal.SIGINT)
        return RunHandle(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("strategy_core.launcher.launcher.RunHandle", interrupted)
    run = tmp_path / "run"
    main(["run", "--devices", "cpu:1", "--set", "steps=null", "-o", str(run)])
    assert strategy_profiles.load(run).status.state == "stopped"
