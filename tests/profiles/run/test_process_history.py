"""Who is in a run, and how each ended, whatever the order in which that was written."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_profiles.analysis import losses
from strategy_profiles.analysis.losses import Loss, find_loss
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.process_history import Process, ProcessHistory
from tests.event_records import event_of

SECOND_NS = 1_000_000_000


def launched(worker: int, generation: int = 0, **fields: Any) -> dict[str, Any]:
    known = {"pid": 100 + worker, "task": f"worker {worker}", "address": f"127.0.0.1:{worker}"}
    return process_event(worker, generation, "launched", **(known | fields))


def process_event(worker: int, generation: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "worker": worker, "generation": generation, "at_ns": 0, **fields}


def exited(worker: int, verdict: str, follows: int | None = None, **fields: Any) -> dict[str, Any]:
    return process_event(worker, 0, "exited", verdict=verdict, follows=follows, **fields)


def history_of(*records: dict[str, Any]) -> ProcessHistory:
    history = ProcessHistory()
    for record in records:
        take(history, record)
    return history


def take(history: ProcessHistory, record: dict[str, Any]) -> bool:
    return history.take(event_of(record), record.get("worker"), record.get("generation"))


def states(history: ProcessHistory) -> list[str]:
    return [process.state for process in history.current()]


GROUP = (launched(0), launched(1), launched(2))
LOST = (
    process_event(0, 0, "failed", message="UnavailableError: gone", follows=True),
    exited(0, "failed", 1, message="Worker 0: UnavailableError: gone", lost_ns=10 * SECOND_NS),
    exited(1, "killed", message="Worker 1: Killed on request.", lost_ns=9 * SECOND_NS),
    exited(2, "killed", 1, message="The launcher ended worker 2: worker 1 was lost."),
)


def test_a_process_starts_runs_and_is_done() -> None:
    history = history_of(*GROUP)
    assert states(history) == ["starting"] * 3
    for worker in range(3):
        take(history, process_event(worker, 0, "segment"))
    assert states(history) == ["running"] * 3
    take(history, process_event(1, 0, "finished", status="finished"))
    take(history, exited(2, "stopped"))
    assert states(history) == ["running", "done", "done"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_lost_process_is_distinguished_from_those_it_ended(order: int) -> None:
    history = history_of(*(GROUP + LOST)[::order])
    assert states(history) == ["ended", "lost", "ended"]
    assert [process.follows for process in history.current()] == [1, None, 1]


def test_without_a_launcher_event_a_process_own_error_counts() -> None:
    history = history_of(
        *GROUP,
        process_event(0, 0, "failed", message="UnavailableError: gone", follows=True),
        process_event(1, 0, "failed", message="The loss is NaN"),
    )
    assert states(history) == ["ended", "lost", "starting"]


def test_a_fresh_group_arrives_takes_over_and_those_before_are_forgotten() -> None:
    history = history_of(*GROUP)
    for worker in range(2):
        take(history, process_event(worker, 1, "worker_started", pid=200 + worker))
    assert [process.generation for process in history.current()] == [0, 0, 0]
    assert [process.pid for process in history.arriving()] == [200, 201]
    for worker in range(2):
        take(history, launched(worker, 1))
    for worker in range(3):
        take(history, exited(worker, "replaced"))
    assert [(process.worker, process.generation) for process in history.current()] == [
        (0, 1),
        (1, 1),
    ]
    assert history.arriving() == []


def test_a_fresh_group_that_could_not_take_over_is_forgotten() -> None:
    history = history_of(
        launched(0),
        process_event(0, 1, "worker_started", pid=7),
        process_event(1, 1, "worker_started"),
    )
    for worker in range(2):
        fields = {"folder": f"rejected-worker-{worker}-1-{worker + 5}"}
        assert take(
            history, {"kind": "note", "level": "warning", "message": "no", "fields": fields}
        )
    assert history.arriving() == []
    assert states(history) == ["starting"]


def test_a_process_that_restarts_alone_follows_its_predecessor() -> None:
    history = history_of(*GROUP, exited(2, "killed"), launched(2, 1))
    assert [process.generation for process in history.current()] == [0, 0, 1]
    assert history.current()[2].state == "starting"


def test_each_restart_names_the_lost_process_and_the_next_one() -> None:
    history = history_of(
        *GROUP,
        exited(1, "replaced"),
        launched(1, 1),
        exited(2, "killed"),
        launched(2, 1),
        process_event(2, 1, "exited", verdict="crashed"),
        launched(2, 2),
    )
    pairs = [(lost.generation, again.generation) for lost, again in history.restarts()]
    assert pairs == [(0, 1), (1, 2)]
    assert {lost.worker for lost, _ in history.restarts()} == {2}


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "step", "worker": 0},
        {"kind": "note", "fields": {"folder": 3}},
        {"kind": "note", "fields": {"folder": "rejected-worker-0-0-1"}},
    ],
)
def test_an_event_that_concerns_no_process_is_ignored(record: dict[str, Any]) -> None:
    history = ProcessHistory()
    assert not take(history, record)
    assert history.current() == []


WORKERS = SegmentOpened(0, "multi-worker-mirrored", 3, 3, 9, 0, 0, [], "collective-ring", {})


def loss_in(*records: dict[str, Any], segment: SegmentOpened | None = WORKERS) -> Loss:
    loss = find_loss(history_of(*records).current(), segment)
    assert loss is not None
    return loss


def test_a_loss_names_when_and_how_it_was_detected_and_by_whom() -> None:
    loss = loss_in(*GROUP, *LOST)
    assert (loss.worker, loss.title) == (1, "worker 1")
    assert loss.sentences == [
        "Worker 1 was lost. Killed on request.",
        "Worker 0 noticed 1.00 s later by UnavailableError (its connection was gone).",
        "Worker 2 reported nothing; the launcher ended it.",
        losses.WHY_PEERS,
    ]


def test_the_first_lost_process_is_the_cause() -> None:
    loss = loss_in(*GROUP, exited(0, "failed", lost_ns=7), exited(2, "killed", lost_ns=5))
    assert loss.worker == 2
    assert loss.message == "No process reported the reason."


def test_a_loss_noticed_before_its_process_ended_says_so() -> None:
    early = exited(0, "failed", 1, lost_ns=4 * SECOND_NS)
    loss = loss_in(*GROUP, LOST[0], early, LOST[2])
    assert loss.sentences[1].startswith("Worker 0 gave up on it 5.00 s before its end by")
    early["lost_ns"] = 9 * SECOND_NS - 1000
    loss = loss_in(*GROUP, LOST[0], early, LOST[2])
    assert loss.sentences[1].startswith("Worker 0 noticed at once by")


def test_an_unknown_time_or_error_stays_unknown() -> None:
    loss = loss_in(
        *GROUP,
        process_event(0, 0, "failed", message="Strange: so be it", follows=True),
        exited(0, "failed", 1),
        LOST[2],
        segment=None,
    )
    assert loss.sentences[1:] == ["Worker 0 noticed by Strange: so be it."]


def test_a_single_process_or_an_intact_group_has_no_loss() -> None:
    assert find_loss([Process(0, 0, verdict="killed")], None) is None
    assert find_loss(history_of(*GROUP).current(), WORKERS) is None
