"""Placement, memory, input share, efficiency and the price of recording, on a known run."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.breakdown import step_breakdown
from strategy_profiles.analysis.capture_cost import capture_cost
from strategy_profiles.analysis.efficiency import efficiency, scaling
from strategy_profiles.analysis.input_share import input_share
from strategy_profiles.analysis.memory import PROCESS, memory_use
from strategy_profiles.analysis.placement import placement
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import MemorySampled, PlacementRecorded, WindowCaptured
from tests.event_records import read_records, write_records
from tests.synthetic import write_run


def test_placement_counts_ops_and_copies_of_variables(tmp_path: Path) -> None:
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", replicas=4, steps=30, ops_per_step=24)
    )
    placed = placement(profile, 0)
    assert [device.num_ops for device in placed.devices] == [24] * 4
    kernel = next(item for item in placed.variables if item.name == "dense/kernel")
    assert kernel.kind == "MirroredVariable"
    assert len(kernel.devices) == 4
    assert kernel.bytes_per_copy == int(2_359_296 * 0.9)
    assert sum(n for _, n in placed.devices[0].top_ops) == 24


def test_placement_that_is_missing_says_why(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30, placement=False)
    assert (
        placement(strategy_profiles.load(run), 0).reason
        == "no placement was recorded for this segment"
    )
    log = EventLog(run / "worker-0-0/events.jsonl")
    log.write(PlacementRecorded(0, None, 0, "the function was traced before recording"))
    log.close()
    placed = placement(strategy_profiles.load(run), 0)
    assert placed.reason == "the function was traced before recording"


def test_growing_memory_is_distinguished_from_constant_memory(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=400, replicas=2, memory=False)
    log = EventLog(run / "worker-0-0/events.jsonl")
    for step in range(40):
        log.write(MemorySampled("/device:CPU:0", step, 1000 + 100 * step, None, "tf"))
        log.write(MemorySampled("/device:CPU:1", step, 1000 + step % 2, 5000, "tf"))
    log.close()
    growing, steady = memory_use(strategy_profiles.load(run))
    assert (growing.is_growing, steady.is_growing) == (True, False)
    assert growing.growth_bytes_per_step == pytest.approx(100)
    assert (growing.peak_bytes, steady.peak_bytes) == (4900, 5000)


def test_memory_that_rises_once_or_only_between_epochs_does_not_grow(tmp_path: Path) -> None:
    ends = [{"step": 40 * number + 39, "wall_ms": 100.0} for number in range(9)]
    run = write_run(tmp_path / "run", steps=400, replicas=2, memory=False, epoch_ends=ends)
    log = EventLog(run / "worker-0-0/events.jsonl")
    for step in range(0, 400, 10):
        refilled = 1000 + 200 * (step // 40) + step % 40 // 10
        log.write(MemorySampled("/device:CPU:0", step, refilled, None, "tf"))
        once = 1000 + step // 10 + 900 * (step >= 300)
        log.write(MemorySampled("/device:CPU:1", step, once, None, "tf"))
    log.close()
    assert [used.is_growing for used in memory_use(strategy_profiles.load(run))] == [False, False]


def test_memory_that_a_capture_adds_to_the_process_is_no_growth(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=400, replicas=2, memory=False)
    log = EventLog(run / "worker-0-0/events.jsonl")
    for step in range(0, 400, 10):
        used = 1000 + 100 * max(0, step - 190)
        log.write(MemorySampled("/device:CPU:0", step, used, None, "tf"))
        log.write(MemorySampled(PROCESS, step, used, None, "process-resident"))
    log.write(WindowCaptured(9, 0, 200, 5, "window-000009", 0, 0, 0.0, 0.0, 0.0, error="lost"))
    log.close()
    device, process = memory_use(strategy_profiles.load(run))
    assert (device.is_growing, process.is_growing) == (True, False)


def test_input_share_is_input_over_wall(tmp_path: Path) -> None:
    input_time = input_share(
        strategy_profiles.load(write_run(tmp_path / "run", replicas=1, input_ms=5.0, step_ms=14.5)),
        0,
    )
    assert input_time.share == pytest.approx(5.0 / 20.0, rel=0.03)
    assert input_time.is_input_bound


def test_efficiencies_multiply(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", replicas=4, straggler=(2, 20.0)))
    efficiencies = efficiency(step_breakdown(profile, profile.segments[0]))
    assert efficiencies.load_balance == pytest.approx((3 * 20 + 40) / 4 / 40, rel=0.02)
    longest = (efficiencies.communication or 0) * (efficiencies.orchestration or 0)
    assert longest == pytest.approx(40 / 43.5, rel=0.02)
    assert efficiencies.parallel == pytest.approx((efficiencies.load_balance or 0) * longest)


def test_a_step_that_waits_for_input_does_not_blame_communication(tmp_path: Path) -> None:
    recorded = write_run(tmp_path / "run", replicas=2, input_ms=60.0, step_ms=80.0)
    profile = strategy_profiles.load(recorded)
    efficiencies = efficiency(step_breakdown(profile, profile.segments[0]))
    assert (efficiencies.communication or 0) > 0.8
    assert (efficiencies.orchestration or 1) < 0.7


def test_efficiency_of_strong_and_weak_scaling_is_measured(tmp_path: Path) -> None:
    segments = [
        {"replicas": 1, "step_ms": 40.0},
        {"replicas": 2, "step_ms": 20.0},
        {"replicas": 2, "step_ms": 40.0, "global_batch_size": 512},
        {"replicas": 3, "global_batch_size": 300},
    ]
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=200, segments=segments))
    one, two, double, odd = ((s, step_times(profile, s.segment)) for s in profile.segments)
    strong, weak = scaling(one, two), scaling(one, double)
    assert strong is not None
    assert weak is not None
    assert (strong.kind, weak.kind) == ("strong", "weak")
    alone_ms, half_ms, shared_ms = 41.5, 23.5, 43.5  # step_ms and what is not computation
    assert strong.efficiency == pytest.approx(alone_ms / (2 * half_ms), rel=0.03)
    assert weak.efficiency == pytest.approx(alone_ms / shared_ms, rel=0.03)
    assert scaling(one, odd) is None


def test_a_capture_that_was_never_reported_is_not_called_missing(tmp_path: Path) -> None:
    """The run was cut off after its captured steps and before the tables were counted."""
    run = write_run(tmp_path / "run", steps=60, windows=1)
    events = run / "worker-0-0" / "events.jsonl"
    write_records(events, [each for each in read_records(events) if each["kind"] != "window"])
    cost = capture_cost(strategy_profiles.load(run), 0)
    assert cost.reason == "the run ended before its capture was reported"


def test_capture_cost_counts_what_windows_take(tmp_path: Path) -> None:
    cost = capture_cost(strategy_profiles.load(write_run(tmp_path / "run", steps=200)), 0)
    assert cost.num_windows == 3
    window_ms, step_ms, num_timed = 35.1, 23.8, 199
    assert cost.between_ms == pytest.approx(3 * window_ms)
    assert cost.overhead_ratio == pytest.approx(1 + 3 * window_ms / (num_timed * step_ms), rel=0.02)


def test_capture_of_every_step_has_nothing_to_compare_with(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=12, windows=1, window_steps=11)
    cost = capture_cost(strategy_profiles.load(run), 0)
    assert cost.overhead_ratio is None
    assert cost.reason == "every timed step was captured: nothing to compare with"
