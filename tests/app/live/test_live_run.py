"""Viewers of a run receive everything once, then what is new; the oldest steps are thinned."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategy_app.live.live_run import LiveRun
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import (
    EpochEnded,
    EpochEnding,
    Exited,
    Failed,
    Launched,
    Note,
    SegmentOpened,
    StepDone,
    WorkerStarted,
)
from strategy_profiles.run.layout import LAUNCHER_EVENTS, worker_folder
from strategy_profiles.run.liveness import process_started_ns
from strategy_profiles.run.manifest import create_run_file
from strategy_profiles.run.status import derive_status
from strategy_profiles.run.tail import WrittenEvent
from tests.synthetic import HOSTILE, write_run


def step(number: int, **fields: Any) -> StepDone:
    known = {"start_ns": 1_000_000 * number, "wall_ms": 5.0, "loss": 0.5, "examples": 8}
    return StepDone(segment=0, step=number, **({"captured": False} | known | fields))


def segment(number: int = 0, **spec: Any) -> SegmentOpened:
    requested = {"strategy": "mirrored", "devices": "cpu:2", "steps": 50} | spec
    return SegmentOpened(number, "mirrored", 2, 1, 8, 0, 0, ["a", "b"], "auto", requested)


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    return EventLog(worker_folder(tmp_path, 0).events, now_ns=lambda: 1_000_000)


@pytest.fixture
def live(tmp_path: Path) -> LiveRun:
    return LiveRun(tmp_path, clock=lambda: 0.0)


def message_of(live: LiveRun, cursor: str = "") -> tuple[dict[str, Any], str]:
    live.catch_up()
    text, after = live.message(cursor)
    return json.loads(text), after


def test_a_first_message_has_everything_and_the_next_only_what_is_new(
    log: EventLog, live: LiveRun
) -> None:
    log.write(segment())
    log.write(step(0))
    first, cursor = message_of(live)
    assert first["reset"]
    assert [row[1] for row in first["steps"]] == [0]
    log.write(step(1))
    log.write(step(2))
    second, cursor = message_of(live, cursor)
    assert not second["reset"]
    assert [row[1] for row in second["steps"]] == [1, 2]
    assert second["news"] == []
    third, _ = message_of(live, cursor)
    assert third["steps"] == []


@pytest.mark.parametrize("cursor", ["nonsense", "-1-0", "9999-0", "0-9999", "1", "１-0"])
def test_a_cursor_that_is_not_ours_gets_everything(
    cursor: str, log: EventLog, live: LiveRun
) -> None:
    log.write(step(0))
    message, _ = message_of(live, cursor)
    assert message["reset"]
    assert len(message["steps"]) == 1


def test_phases_add_up_to_the_step(log: EventLog, live: LiveRun) -> None:
    ms = 1_000_000
    marks = [[0, 10 * ms, 14 * ms], [0, 13 * ms, 14 * ms]]
    log.write(step(0, wall_ms=16.0, input_ms=1.0, marks_ns=marks))
    message, _ = message_of(live)
    phases = message["steps"][0][7]
    assert phases[:6] == [10.0, 0.0, 3.0, 1.0, 1.0, 1.0]
    assert phases[6:] == [13.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert sum(phases[:6]) == sum(phases[6:]) == 16.0


def test_a_workload_file_is_named_without_its_folders_and_not_endless(
    log: EventLog, live: LiveRun
) -> None:
    log.write(segment(workload=f"/home/me/{'w' * 80}.py"))
    log.write(step(0))
    log.write(step(1))
    first, _ = message_of(live)
    name = f"{'w' * 28}...{'w' * 25}.py"
    assert first["status"]["workload"] == name


def test_a_small_loss_keeps_its_digits(log: EventLog, live: LiveRun) -> None:
    log.write(segment())
    log.write(step(0, loss=3.87412e-06))
    (row,) = message_of(live)[0]["steps"]
    assert row[5] == 3.87412e-06


def test_a_long_run_keeps_its_newest_steps_and_thins_the_oldest(
    tmp_path: Path, log: EventLog
) -> None:
    live = LiveRun(tmp_path, recent_rows=100, clock=lambda: 0.0)
    for number in range(20_000):
        log.write(step(number))
    message, _ = message_of(live)
    numbers = [row[1] for row in message["steps"]]
    assert numbers[-64:] == list(range(19_936, 20_000))
    assert len(numbers) <= 100 + 4_096
    assert numbers[0] < 10
    assert numbers == sorted(numbers)


def test_of_more_steps_than_a_page_can_draw_the_newest_and_one_in_several_are_taken(
    log: EventLog, live: LiveRun
) -> None:
    for number in range(5_000):
        log.write(step(number))
    _, cursor = message_of(live)
    live._sampler._left = 0.0  # no time passes: as if all that may be taken at once were used up
    log.write(Note("info", "between"))
    for number in range(5_000, 6_000):
        log.write(step(number, captured=number == 5_003))
    message, _ = message_of(live, cursor)
    numbers = [row[1] for row in message["steps"]]
    assert numbers[-64:] == list(range(5_936, 6_000))
    assert 5_003 in numbers, "it is captured"
    assert len(numbers) < 140
    assert [news["message"] for news in message["news"]] == ["between"]


def test_a_read_is_bounded_and_the_newest_steps_come_before_those_that_it_left(
    log: EventLog, live: LiveRun
) -> None:
    at_ns = [0]
    log.now_ns = lambda: at_ns[0]
    for number in range(20_000):
        at_ns[0] = 1_000_000 * (number + 1)
        log.write(step(number, marks_ns=[[0, 1, 2]]))
    live.advance()
    message = json.loads(live.message()[0])
    read, ahead = message["steps"][-1], message["ahead"][-1]
    assert read[1] < 15_000
    assert len(message["steps"]) < 4_096
    assert ahead[:5] == [0, 19_999, 0, 19_998.0, 5.0]
    assert ahead[7] is None, "its phases depend on what is unread"
    assert message["behind_ms"] == pytest.approx(19_999 - read[1])
    message, _ = message_of(live)
    assert (message["steps"][-1][1], message["ahead"], message["behind_ms"]) == (19_999, [], None)


@settings(max_examples=30, deadline=None)
@given(
    writes=st.lists(st.tuples(st.integers(0, 1), st.sampled_from([1, 40, 900])), max_size=12),
    reads_after=st.sets(st.integers(0, 11)),
    passes_s=st.floats(0.0, 0.2),
)
def test_whatever_is_written_between_reads_each_step_comes_once_and_the_last_one_does(
    writes: list[tuple[int, int]],
    reads_after: set[int],
    passes_s: float,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, now = tmp_path_factory.mktemp("run") / "run", [0.0]
    create_run_file(folder, {})
    live, cursor = LiveRun(folder, clock=lambda: now[0]), ""
    live._sampler._left = 0.0
    logs = [EventLog(worker_folder(folder, worker).events) for worker in (0, 1)]
    done, seen = [0, 0], []
    for turn, (worker, number) in enumerate(writes):
        for _ in range(number):
            logs[worker].write(step(done[worker]))
            done[worker] += 1
        now[0] += passes_s
        if turn in reads_after:
            live.advance()
            message, cursor = json.loads((got := live.message(cursor))[0]), got[1]
            seen += [tuple(row[:2]) for row in message["steps"]]
    live.catch_up()
    message = json.loads(live.message(cursor)[0])
    seen += [tuple(row[:2]) for row in message["steps"]]
    assert len(seen) == len(set(seen))
    assert message["ahead"] == []
    for worker in (0, 1):
        steps = [number for of, number in seen if of == worker]
        assert steps == sorted(steps)
        assert steps[-1:] == [done[worker] - 1][: done[worker]]


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_set_leaves_no_hour_on_the_axis(
    hours: int, log: EventLog, live: LiveRun
) -> None:
    hour_ns, ms = 3_600_000_000_000, 1_000_000
    jump_ns = hours * hour_ns
    log.now_ns = lambda: 2 * hour_ns
    log.write(segment())
    for number in range(6):
        log.write(step(number, start_ns=2 * hour_ns + number * ms))
    _, cursor = message_of(live)
    log.now_ns = lambda: 2 * hour_ns + 9 * ms + jump_ns
    for number in range(6, 9):
        log.write(step(number, start_ns=2 * hour_ns + number * ms + jump_ns))
    _, cursor = message_of(live, cursor)  # the recorder has not noted it yet
    log.write(Note("warning", "It was set.", {"step": 7, "jump_ns": jump_ns}))
    log.write(step(9, start_ns=2 * hour_ns + 9 * ms + jump_ns))
    message, _ = message_of(live, cursor)
    assert message["reset"], "steps by the other clock have been sent"
    assert [row[3] for row in message["steps"]] == [float(number) for number in range(10)]
    assert message["news"][-1]["at_ms"] == 9.0


def test_a_message_waits_for_no_reading(
    log: EventLog, live: LiveRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write(step(0))
    message_of(live)
    reading, go_on = threading.Event(), threading.Event()

    def read_some(*_: Any) -> list[WrittenEvent]:
        reading.set()
        assert go_on.wait(30)
        return []

    monkeypatch.setattr(live._tail, "read_some", read_some)
    reader = threading.Thread(target=live.advance)
    reader.start()
    assert reading.wait(30)
    assert json.loads(live.message()[0])["steps"]
    assert live.news() == []
    go_on.set()
    reader.join()


def test_a_viewer_that_fell_behind_the_newest_steps_starts_over(
    tmp_path: Path, log: EventLog
) -> None:
    live = LiveRun(tmp_path, recent_rows=10, clock=lambda: 0.0)
    log.write(step(0))
    _, cursor = message_of(live)
    for number in range(1, 50):
        log.write(step(number))
    message, _ = message_of(live, cursor)
    assert message["reset"]


def test_a_new_segment_says_what_changed(log: EventLog, live: LiveRun) -> None:
    log.write(segment())
    log.write(segment(1, devices="cpu:4", inject=[{"replica": 1, "ms": 30.0}]))
    message, _ = message_of(live)
    assert message["news"][1]["changes"] == [
        "devices cpu:2 → cpu:4",
        "delay none → 30 ms in replica 1",
    ]
    assert live.applied_spec is not None
    assert live.applied_spec["devices"] == "cpu:4"


def test_a_window_brings_breakdown_and_traffic(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, straggler=(2, 30.0))
    message, _ = message_of(LiveRun(run))
    window = next(item for item in message["news"] if item["kind"] == "window")
    compute = [row["compute_ms"] for row in window["replicas"]]
    assert compute[2] - compute[0] == pytest.approx(30, rel=0.1)
    assert window["collectives"][0]["bytes"] == 2_097_152 + 262_144
    assert message["status"]["state"] == "finished"


def test_a_window_whose_tables_are_gone_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, missing=("collectives",))
    message, _ = message_of(LiveRun(run))
    window = next(item for item in message["news"] if item["kind"] == "window")
    assert "cannot be read" in window["error"]


def test_failure_and_text_arrive_as_they_are_but_not_endless(log: EventLog, live: LiveRun) -> None:
    log.write(WorkerStarted(0, 2**22 - 1, 0, 0))
    log.write(Failed(HOSTILE * 500, "detail"))
    message, _ = message_of(live)
    assert message["status"]["state"] == "failed"
    news = message["news"][-1]
    assert news["message"].startswith(HOSTILE)
    assert len(news["message"]) <= 2_001


@pytest.mark.parametrize(
    ("says", "after_s", "state"),
    [("begins again", 1.0, "running"), ("lost", 1.0, "failed"), ("nothing", 5.0, "failed")],
)
def test_a_run_is_lost_when_its_launcher_says_so_or_has_had_its_time(
    says: str, after_s: float, state: str, log: EventLog, tmp_path: Path
) -> None:
    """A worker fails within milliseconds of a peer's end; the launcher takes a second to judge."""
    now = [0.0]
    live = LiveRun(tmp_path, clock=lambda: now[0])
    launcher = EventLog(tmp_path / LAUNCHER_EVENTS)
    pid, began = os.getpid(), process_started_ns(os.getpid())
    launcher.write(Launched(0, 0, pid, began or 0, False))
    log.write(segment())
    assert message_of(live)[0]["status"]["state"] == "running"
    log.write(Failed("UnavailableError: its peer has gone", follows=True))
    assert message_of(live)[0]["status"]["state"] == "running"
    if says != "nothing":
        launcher.write(Exited(0, 0, 1, "failed", "Worker 1 was lost."))
    if says == "begins again":
        launcher.write(Launched(0, 1, pid, began or 0, False))
    now[0] = after_s
    assert message_of(live)[0]["status"]["state"] == state


def test_a_run_on_another_machine_goes_on_while_it_writes_steps(tmp_path: Path) -> None:
    now_ns = time.time_ns()
    launcher = EventLog(tmp_path / LAUNCHER_EVENTS, now_ns=lambda: now_ns - 3600 * 10**9)
    launcher.write(Launched(0, 0, 7, 1, False, "worker 0", None, "elsewhere"))
    log = EventLog(worker_folder(tmp_path, 0).events, now_ns=lambda: now_ns)
    assert message_of(LiveRun(tmp_path))[0]["status"]["state"] == "incomplete"
    log.write(step(0, start_ns=now_ns))
    assert message_of(LiveRun(tmp_path))[0]["status"]["state"] == "running"
    assert derive_status(read_sources(tmp_path)).state == "running"


def test_a_step_that_does_not_fit_is_left_out_and_the_next_one_shown(
    tmp_path: Path, live: LiveRun
) -> None:
    path = worker_folder(tmp_path, 0).events
    path.parent.mkdir()
    fields = '"kind": "step", "segment": 0, "start_ns": 5, "loss": null, "examples": null'
    odd = ['"step": 1, "wall_ms": NaN', '"step": "y", "wall_ms": 1', '"step": 1']
    odd += ['"step": 1, "wall_ms": 1, "marks_ns": [[0, 1e999, 5]]']
    sound = '"step": 2, "wall_ms": 5'
    lines = [f'{{{fields}, {each}, "captured": false}}' for each in [*odd, sound]]
    path.write_text("\n".join(lines) + "\n")
    message, _ = message_of(live)
    assert [row[1:8] for row in message["steps"]] == [[2, 0, 0.0, 5.0, None, None, None]]


@pytest.mark.parametrize("keep", [0, 10, 500, 1500, 5000, 20_000])
def test_a_run_cut_off_at_any_byte_is_followed(keep: int, tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run", steps=40, windows=1, ending=None, cut=[("worker-0-0/events.jsonl", keep)]
    )
    message, _ = message_of(LiveRun(run))
    assert message["status"]["state"] == "incomplete"


def test_an_ended_run_without_a_step_promises_no_number(log: EventLog, live: LiveRun) -> None:
    log.write(WorkerStarted(0, 7, 0, 0))
    assert set(notes_of(live).values()) > {"after the second step", "after the first step"}
    log.write(Failed("build_dataset yields NaN"))
    live.advance()
    assert set(notes_of(live).values()) == {"the run ended before its first step was done"}


def notes_of(live: LiveRun) -> dict[str, str]:
    numbers = message_of(live)[0]["numbers"]["numbers"]
    return {key: note for key, (_value, _unit, note) in numbers.items()}


def test_the_end_of_an_epoch_reaches_the_charts(
    tmp_path: Path, log: EventLog, live: LiveRun
) -> None:
    """Its event and the next step come within the time for which a status is kept."""
    began_ns = process_started_ns(os.getpid()) or 0
    EventLog(tmp_path / LAUNCHER_EVENTS).write(Launched(0, 0, os.getpid(), began_ns, False))
    log.write(segment())
    for number in range(4):
        log.write(step(number))
    log.write(EpochEnding(doing="validation"))
    message, cursor = message_of(live)
    assert message["status"]["doing"]["state"] == "between-epochs"
    log.write(EpochEnded(segment=0, step=3, start_ns=8_000_000, wall_ms=7.0, validation_ms=6.0))
    log.write(step(4, start_ns=15_000_000))
    message, _ = message_of(live, cursor)
    assert message["status"]["doing"]["state"] == "running"
    (end,) = message["news"]
    assert (end["kind"], end["begin_ms"], end["wall_ms"]) == ("epoch", 7.0, 7.0)
    assert end["text"] == "end of an epoch, 7.00 ms, most of it validation"


def test_many_epochs_leave_room_for_other_news(log: EventLog, live: LiveRun) -> None:
    log.write(segment())
    for number in range(3_000):
        log.write(EpochEnded(segment=0, step=number, start_ns=number, wall_ms=1.0))
    log.write(Failed("the loss is NaN"))
    message, _ = message_of(live)
    assert message["news"][-1]["kind"] == "failed"
    assert len(message["news"]) == 1_002
