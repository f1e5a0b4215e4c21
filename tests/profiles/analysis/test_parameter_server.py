"""Parameter servers: who did what, what waited, what sits where, against numbers known before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.breakdown import step_breakdown
from strategy_profiles.analysis.efficiency import efficiency
from strategy_profiles.analysis.findings import findings, gather_facts
from strategy_profiles.analysis.parameter_server import ParameterServing, parameter_serving
from strategy_profiles.run.events import Exited, Launched
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.timeline.layout import lay_out
from tests.event_records import usual
from tests.profiles.served_run import APART_MS, BEGIN_NS, MS, PARTS_MS, write_served_run
from tests.synthetic import write_run


def serving_of(folder: Path) -> ParameterServing:
    profile = strategy_profiles.load(folder)
    return parameter_serving(profile, profile.segments[0])


def test_each_workers_steps_are_shown_by_phase(tmp_path: Path) -> None:
    serving = serving_of(write_served_run(tmp_path / "run"))
    assert serving.reason is None
    for worker, count in zip(serving.workers, (40, 16), strict=True):
        parts = PARTS_MS[worker.worker]
        assert worker.num_steps == count
        known = worker.phases_ms
        assert known.pop("delay") == 0
        assert tuple(known.values()) == pytest.approx(parts)
        assert worker.wall_ms == pytest.approx(sum(parts))
        assert (worker.queue_ms, worker.return_ms) == (pytest.approx(5), pytest.approx(2))
        busy = sum(parts) / (sum(parts) + APART_MS)
        assert worker.busy_share == pytest.approx(busy, rel=0.05)
        assert worker.steps_per_second == pytest.approx(1e3 / (sum(parts) + APART_MS), rel=0.05)


def test_a_server_holds_and_moves_what_its_variables_are_large(tmp_path: Path) -> None:
    (server,) = serving_of(write_served_run(tmp_path / "run")).servers
    assert (server.process, server.num_weights) == (3, 1)
    assert (server.weight_bytes, server.optimizer_bytes) == (440, 400)
    assert (server.pull_bytes, server.push_bytes) == (440, 440)


def test_the_queue_and_the_work_are_counted_over_time(tmp_path: Path) -> None:
    moments = serving_of(write_served_run(tmp_path / "run")).moments
    assert moments is not None
    assert moments.in_flight.max() == 2
    assert moments.queued.min() == moments.in_flight.min() == 0
    assert moments.queued[-1] == moments.in_flight[-1] == 0


def test_a_lost_and_restarted_worker_is_shown_with_both_times(tmp_path: Path) -> None:
    lost, launched = BEGIN_NS + 100 * MS, BEGIN_NS + 110 * MS
    folder = write_served_run(
        tmp_path / "run",
        launcher_extra=[
            (lost, Exited(2, 0, -9, "killed", "Worker 1: killed.", None, lost)),
            (launched, Launched(2, 1, 1 << 22, 1, False, "worker 1")),
            (launched, Exited(2, 1, 0, "finished")),
        ],
    )
    (absence,) = serving_of(folder).absences
    assert (absence.worker, absence.message) == (2, "Worker 1: killed.")
    origin_s = -5e-3  # the first closure was scheduled before the first began
    assert absence.lost_s == pytest.approx(0.1 - origin_s)
    assert absence.back_s is not None
    assert absence.back_s >= 0.11 - origin_s
    assert strategy_profiles.load(folder).status.state == "finished"


def test_a_step_of_the_workloads_own_has_no_parts(tmp_path: Path) -> None:
    folder = write_served_run(tmp_path / "run", own_step=True)
    serving = serving_of(folder)
    assert all(worker.phases_ms["pull"] is None for worker in serving.workers)
    assert [worker.wall_ms for worker in serving.workers] == [pytest.approx(10), pytest.approx(30)]
    assert serving.servers[0].pull_bytes is None
    profile = strategy_profiles.load(folder)
    assert step_breakdown(profile, profile.segments[0]).reason is not None
    assert any(text.startswith("step") for text in lay_out(profile).ops)


def test_without_a_common_clock_nothing_is_said_of_the_queue(tmp_path: Path) -> None:
    serving = serving_of(write_served_run(tmp_path / "run", hosts=("here", "there", "there")))
    assert serving.moments is None
    assert serving.moments_reason == "the workers' clocks cannot be compared"
    assert all(worker.queue_ms is None for worker in serving.workers)
    assert all(worker.wall_ms is not None for worker in serving.workers)


def test_a_workers_step_is_broken_down_into_phases_that_add_up(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_served_run(tmp_path / "run"))
    breakdown = step_breakdown(profile, profile.segments[0])
    for replica in breakdown.replicas:
        parts = PARTS_MS[replica.worker]
        assert replica.transfer_ms == pytest.approx(parts[1] + parts[3])
        assert replica.idle_ms == pytest.approx(APART_MS)
        assert sum(replica.phase_ms(name) or 0.0 for name in CATEGORIES) == replica.wall_ms
    assert efficiency(breakdown).parallel is None
    assert profile.summary()["segments"][0]["replicas"][1]["compute_ms"] == pytest.approx(23)


def test_every_step_is_on_the_timeline_of_its_worker(tmp_path: Path) -> None:
    timeline = lay_out(strategy_profiles.load(write_served_run(tmp_path / "run")))
    assert [track.worker for track in timeline.tracks] == [0, 1, 2]
    assert timeline.num_spans == 5 * 56  # four parts of each step, and its time in the queue
    assert [track.num_rows for track in timeline.tracks[1:]] == [1, 1]
    assert [track.title for track in timeline.tracks] == ["coordinator", "worker 0", "worker 1"]


def test_a_timeline_begins_with_the_run_though_only_its_newest_steps_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = strategy_profiles.load(write_served_run(tmp_path / "run"))
    whole = lay_out(profile)
    monkeypatch.setattr("strategy_profiles.timeline.one_clock.MAX_UNCAPTURED_STEPS", 10)
    newest = lay_out(profile)
    assert newest.num_spans == 5 * 10, "5 parts of each of 10 steps"
    assert newest.origin_ns == profile.table("steps")["start_ns"].to_pylist()[0]
    assert newest.length_ns + newest.origin_ns == whole.length_ns + whole.origin_ns


def test_a_workers_share_is_of_its_own_step_and_not_of_the_time_between_results(
    tmp_path: Path,
) -> None:
    profile = strategy_profiles.load(write_served_run(tmp_path / "run"))
    by_key = {item.key: item for item in findings(gather_facts(profile, profile.segments[0]))}
    assert "of a worker's step (" in by_key["communication-exposed"].sentence
    assert "steps_per_execution" not in "".join(item.advice for item in by_key.values())


def test_damaged_records_are_left_out_and_noted(tmp_path: Path) -> None:
    folder = write_served_run(tmp_path / "run")
    odd = [{"marks_ns": [1, 2]}, {"marks_ns": [None] * 5}, {"worker": -1}]
    with (folder / "worker-0-0/events.jsonl").open("a") as file:
        for fields in odd:
            file.write(json.dumps(usual({"kind": "closure", "step": 900} | fields)) + "\n")
    profile = strategy_profiles.load(folder)
    assert profile.table("closures").num_rows == 56
    assert sum("left out (closure: " in note for note in profile.notes) == 3


def test_strategies_without_parameter_servers_say_so(tmp_path: Path) -> None:
    serving = serving_of(write_run(tmp_path / "plain", steps=20))
    assert serving.reason == "mirrored has no parameter servers"
