"""Live rows of several workers: who waited for whom shows once both have recorded the step."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_app.live.live_run import LiveRun
from strategy_app.live.step_rows import OLD_ROWS
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import (
    ClockMeasured,
    Environment,
    SegmentOpened,
    StepDone,
)
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.tables.schema import CATEGORIES
from tests.synthetic import write_run

MS = 1_000_000


def rows_of(live: LiveRun) -> list[list[Any]]:
    live.advance()
    return json.loads(live.message()[0])["steps"]  # type: ignore[no-any-return]


def latest(rows: list[list[Any]]) -> dict[tuple[int, int], list[float]]:
    """By step and worker the phases as a viewer has them in the end."""
    by_worker = {}
    for worker, step, *_, phases, others in rows:
        by_worker[step, worker] = phases
        by_worker |= {(step, other): changed for other, changed in others}
    return by_worker


class Workers:
    """The event logs of two workers on two hosts; the second's clock is 50 ms behind."""

    def __init__(self, run: Path, *, strategy: str = "multi-worker-mirrored") -> None:
        written = count()
        self.logs = [
            EventLog(worker_folder(run, n).events, now_ns=lambda: next(written)) for n in range(2)
        ]
        for number, log in enumerate(self.logs):
            log.write(Environment("2.21", "3.11", [], {"name": f"host-{number}"}))
            log.write(SegmentOpened(0, strategy, 2, 2, 8, 0, 0, ["a", "b"], "auto", {}))
        self.logs[1].write(ClockMeasured(0, 0, 50 * MS, 1_000, 2_000, 16, "udp"))

    def step(self, worker: int, number: int, gradients_ms: float, end_ms: float) -> None:
        """One replica whose inputs are ready at 1,000 ms of the reference's clock."""
        behind = 50 * worker
        marks = [[round((at - behind) * MS) for at in (1000, gradients_ms, end_ms)]]
        step = StepDone(0, number, 0, 60.0, 0.5, 8, False, input_ms=1.0, marks_ns=marks)
        self.logs[worker].write(step)


def test_the_later_row_brings_the_wait_of_the_earlier(tmp_path: Path) -> None:
    workers, live = Workers(tmp_path), LiveRun(tmp_path)
    workers.step(0, 0, 1010, 1042)
    (first,) = rows_of(live)
    assert first[7][:4] == [10.0, 0.0, 0.0, 32.0]  # the other workers have not reported yet
    workers.step(1, 0, 1040, 1042)
    second = rows_of(live)[1]
    assert second[7][:4] == [40.0, 0.0, 0.0, 2.0]
    assert second[8] == [[0, [10.0, 0.0, 30.0, 2.0, 1.0, 17.0]]]


def test_the_record_of_a_worker_that_waits_changes_no_other_row(tmp_path: Path) -> None:
    workers, live = Workers(tmp_path), LiveRun(tmp_path)
    workers.step(1, 0, 1040, 1042)
    workers.step(0, 0, 1010, 1042)
    rows = rows_of(live)
    assert [row[8] for row in rows] == [[], []]
    assert rows[1][7][:4] == [10.0, 0.0, 30.0, 2.0]


def test_workers_that_do_not_wait_for_each_other_are_not_compared(tmp_path: Path) -> None:
    workers, live = Workers(tmp_path, strategy="parameter-server"), LiveRun(tmp_path)
    workers.step(0, 0, 1010, 1042)
    workers.step(1, 0, 1040, 1042)
    assert [row[7][2] for row in rows_of(live)] == [0.0, 0.0]


@pytest.mark.parametrize("is_measured", [True, False])
def test_live_phases_are_those_of_the_finished_run(tmp_path: Path, is_measured: bool) -> None:
    run = write_run(
        tmp_path / "run",
        replicas=4,
        workers=2,
        steps=60,
        hosts=("a", "b"),
        clock_ahead_ms=(0.0, 50.0),
        clock_measured=is_measured,
        leader_only=True,
        straggler=(3, 30.0),
    )
    rows = latest(rows_of(LiveRun(run)))
    for row in strategy_profiles.load(run).table("marks").to_pylist():
        at = len(CATEGORIES) * (row["replica"] % 2)
        compute, _, wait, transfer = rows[row["step"], row["worker"]][at : at + 4]
        assert compute == pytest.approx(row["compute_ms"], abs=0.001)
        assert wait == pytest.approx(row["wait_ms"], abs=0.1)
        assert transfer == pytest.approx(row["reduce_ms"], abs=0.1)


@pytest.mark.slow
def test_thinned_steps_keep_the_rows_of_all_workers(tmp_path: Path) -> None:
    workers, live = Workers(tmp_path), LiveRun(tmp_path, recent_rows=100)
    num_steps = OLD_ROWS + 500
    for number in range(num_steps):
        for worker in range(2):
            workers.step(worker, number, 1010, 1042)
    rows = rows_of(live)
    by_worker = [{row[1] for row in rows if row[0] == worker} for worker in range(2)]
    assert by_worker[0] == by_worker[1]
    assert {0, num_steps - 1} <= by_worker[0]
    assert len(rows) <= OLD_ROWS + 100


def test_a_capture_shows_every_replica_and_separates_wait_from_transfer(tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run",
        replicas=2,
        workers=2,
        steps=60,
        windows=1,
        leader_only=True,
        straggler=(1, 30.0),
        collective_bytes=(2_097_152,),
    )
    live = LiveRun(run)
    live.advance()
    window = next(item for item in live.news() if item["kind"] == "window")
    assert [row["source"] for row in window["replicas"]] == ["measured", "marks"]
    leader, other = window["replicas"]
    assert leader["wait_ms"] == pytest.approx(30, rel=0.1)
    assert leader["transfer_ms"] == pytest.approx(2, rel=0.1)
    assert other["compute_ms"] == pytest.approx(50, rel=0.1)
    assert window["collectives"][0]["per_step"] == 1
