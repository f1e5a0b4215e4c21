"""A real run whose converter process is killed or stopped: it loses a capture, and nothing else."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import psutil
import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.run.events import StepDone
from strategy_profiles.run.tail import Tail
from strategy_profiles.spec.run_spec import RunSpec
from tests.event_records import run_records
from tests.processes import all_below, command_of, is_living
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = [pytest.mark.run, pytest.mark.timeout(600)]
STOP_TAKES_S = 45.0
"""The deadline for a stopped converter is 3 s; the rest is for a busy machine."""


def converters(run: Path) -> list[psutil.Process]:
    """Those of the run's worker; the launcher's next worker may have one in readiness."""
    workers = [launched["pid"] for launched in run_records(run, "launched")]
    below = [process for pid in workers if is_living(pid) for process in all_below(pid)]
    return [p for p in below if "strategy_profiles.capture.helper" in " ".join(command_of(p))]


def last_step(run: Path) -> int:
    events = [written.event for written in Tail(run).read()]
    return max((event.step for event in events if isinstance(event, StepDone)), default=-1)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_training_goes_on_and_stop_ends_it_in_time(
    launcher: Launcher, tmp_path: Path, how: signal.Signals
) -> None:
    run = tmp_path / "run"
    spec = RunSpec(
        devices="cpu:2", steps=1_000_000, workload="digits-mlp", capture={"every_step": True}
    )
    handle = launcher.launch(spec, run)
    try:
        wait_until(lambda: last_step(run) >= 10 or handle.is_over)
        for converter in converters(run):
            converter.send_signal(how)
        wait_until(lambda: last_step(run) >= 300 or handle.is_over)
        assert handle.status == "running", handle.message
        last = converters(run)
        for converter in last:
            converter.send_signal(how)
        began = time.monotonic()
        handle.stop()
        assert handle.wait(MAX_WAIT_S)
        assert time.monotonic() - began < STOP_TAKES_S
        assert handle.status == "stopped", handle.message
        assert last, "the lost converter was replaced"
        assert not [converter for converter in last if is_living(converter.pid)]
    finally:
        handle.kill()
    notes = [note["message"] for note in run_records(run, "note")]
    assert any("The process that converts captures was" in message for message in notes)
    assert strategy_profiles.load(run).table("spans").num_rows, "later windows were converted"
