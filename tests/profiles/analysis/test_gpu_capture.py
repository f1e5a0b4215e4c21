"""A capture in which TensorFlow's profiler recorded nothing that the GPUs ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strategy_profiles.analysis.account.account import account
from strategy_profiles.analysis.breakdown import step_breakdown
from strategy_profiles.analysis.communication import communication
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import SegmentOpened, WindowCaptured
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.step_graph.recording import why_no_replay
from strategy_profiles.tables.store import Profile, load
from tests.synthetic import write_run

WHY = "TensorFlow's profiler recorded nothing that GPU:0 and GPU:1 ran"


def _opened(folder: Path, *, marks: bool, **fields: Any) -> tuple[Profile, SegmentOpened]:
    run = write_run(folder, replicas=2, steps=20, device_kind="GPU", windows=0, marks=marks)
    log = EventLog(worker_folder(run, 0, 0).events)
    window = WindowCaptured(0, 0, 5, 5, "window-000000", 9, 0, 1.0, 1.0, 1.0, **fields)
    log.write(window)
    log.close()
    profile = load(run)
    return profile, profile.segments[0]


def test_phases_and_communication_are_unknown_for_that_reason(tmp_path: Path) -> None:
    profile, segment = _opened(tmp_path / "run", marks=False, problems=[WHY])
    breakdown = step_breakdown(profile, segment)
    assert (breakdown.source, breakdown.reason) == (None, WHY)
    assert [replica.compute_ms for replica in breakdown.replicas] == [None, None]
    traffic = communication(profile, segment)
    assert (traffic.collective_bytes, traffic.reason) == (None, WHY)


def test_marks_still_tell_the_phases(tmp_path: Path) -> None:
    profile, segment = _opened(tmp_path / "run", marks=True, problems=[WHY])
    breakdown = step_breakdown(profile, segment)
    assert (breakdown.source, breakdown.reason) == ("marks", WHY)
    assert breakdown.replicas[0].compute_ms == pytest.approx(20, rel=0.2)


def test_the_step_from_sync_to_sync_is_shown_with_the_median(tmp_path: Path) -> None:
    """A program that reads no result sees launches: 20 steps of 50 ms, each seen as about 23 ms."""
    fields = {"synced_steps": 20, "synced_ms": 1000.0}
    profile, segment = _opened(tmp_path / "run", marks=False, **fields)
    assert step_times(profile, segment.segment).synced_ms == 50
    facts = gather_facts(profile, segment)
    step_time = {number.key: number for number in key_numbers(facts)}["step_time"]
    assert step_time.note.endswith("mean from sync to sync: 50.0 ms")


def test_what_a_gpu_idles_until_its_kernels_are_launched_is_a_part_of_idle(tmp_path: Path) -> None:
    cause = {"kind": "launch", "count": 900, "total_ms": 8.0, "held_ms": 8.0}
    causes = [cause | {"replica": replica, "device": f"GPU:{replica}"} for replica in range(2)]
    run = write_run(
        tmp_path / "run", replicas=2, steps=100, device_kind="GPU", causes=causes, idle_ms=10.0
    )
    profile = load(run)
    time_account = account(profile, profile.segments[0])
    idle, launch = time_account.row("loop/steps/idle"), time_account.row("loop/steps/idle/launch")
    assert idle is not None
    assert launch is not None
    assert launch.total_ms / idle.total_ms == pytest.approx(0.8, rel=0.02)
    assert [row.kind for row in time_account.children("loop/steps/idle")] == ["launch"]
    why = why_no_replay(profile, 0)
    assert why is not None
    assert why.startswith("A GPU idles for 8.00 ms of a step until its next kernel is launched")
