"""A program that TensorFlow lets wait without end says why under `strategy-lab trace`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.processes.import_path import with_own_code
from tests.event_records import run_records
from tests.foreign.both_ways import PROGRAMS
from tests.timeouts import wait_until

pytestmark = [pytest.mark.tf, pytest.mark.run]

SAID = "The strategy has a replica on CPU:1, and this process has no such device"


def test_a_replica_on_a_device_that_is_not_there_is_named(tmp_path: Path) -> None:
    program = [sys.executable, "-P", "-m", "strategy_core", "trace", "-o", "run"]
    process = subprocess.Popen(
        [*program, str(PROGRAMS / "missing_device.py")],
        cwd=tmp_path,
        env=with_own_code(os.environ),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(
            lambda: (
                process.poll() is not None
                or any(SAID in note["message"] for note in run_records(tmp_path / "run", "note"))
            )
        )
        assert process.poll() is None, "the program goes on, which TensorFlow holds up"
    finally:
        process.send_signal(signal.SIGTERM)
        errors = process.communicate()[1]
    assert process.returncode == -signal.SIGTERM
    assert f"strategy-lab: {SAID}" in errors
    profile = strategy_profiles.load(tmp_path / "run")
    assert profile.status.message == "The program was ended by SIGTERM."
    assert profile.summary()["segments"][0]["steps"]["count"] == 0
