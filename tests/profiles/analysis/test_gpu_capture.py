"""A capture in which TensorFlow's profiler recorded nothing that the GPUs ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_lab.profiles.analysis.breakdown import step_breakdown
from strategy_lab.profiles.analysis.communication import communication
from strategy_lab.profiles.run.event_log import EventLog
from strategy_lab.profiles.run.events import SegmentOpened, WindowCaptured
from strategy_lab.profiles.run.layout import worker_folder
from strategy_lab.profiles.tables.store import Profile, load
from tests.synthetic import write_run

WHY = "TensorFlow's profiler recorded nothing that GPU:0 and GPU:1 ran"


def _opened(folder: Path, *, marks: bool) -> tuple[Profile, SegmentOpened]:
    run = write_run(folder, replicas=2, steps=20, device_kind="GPU", windows=0, marks=marks)
    log = EventLog(worker_folder(run, 0, 0).events)
    window = WindowCaptured(0, 0, 5, 5, "window-000000", 9, 0, 1.0, 1.0, 1.0, problems=[WHY])
    log.write(window)
    log.close()
    profile = load(run)
    return profile, profile.segments[0]


def test_phases_and_communication_are_unknown_for_that_reason(tmp_path: Path) -> None:
    profile, segment = _opened(tmp_path / "run", marks=False)
    found = step_breakdown(profile, segment)
    assert (found.source, found.reason) == (None, WHY)
    assert [replica.compute_ms for replica in found.replicas] == [None, None]
    traffic = communication(profile, segment)
    assert (traffic.collective_bytes, traffic.reason) == (None, WHY)


def test_marks_still_tell_the_phases(tmp_path: Path) -> None:
    profile, segment = _opened(tmp_path / "run", marks=True)
    found = step_breakdown(profile, segment)
    assert (found.source, found.reason) == ("marks", WHY)
    assert found.replicas[0].compute_ms == pytest.approx(20, rel=0.2)
