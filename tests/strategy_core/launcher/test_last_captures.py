"""Captures of workers that were lost before they were converted are converted by the launcher."""

from __future__ import annotations

import os
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from strategy_core.launcher import last_captures
from strategy_core.launcher.last_captures import Outcome, convert_last_captures, recover_captures
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.capture.helper import Job
from strategy_profiles.capture.pending import Pending, read_pending
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_log import EventLog, read_events
from strategy_profiles.run.events import Event, Failed, Note, WindowCaptured, WorkerStarted
from strategy_profiles.run.layout import WorkerFolder, worker_folder
from strategy_profiles.spec.run_spec import RunSpec
from tests.profiles.capture.xspace_builder import CaptureBuilder
from tests.strategy_core.launcher.test_launcher import FORKED
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run


def leave_capture(folder: WorkerFolder, number: int) -> Path:
    """A capture of one step as a worker leaves it that is killed then; returns the raw file."""
    capture = CaptureBuilder()
    capture.step(number, 0, 100)
    raw = folder.unconverted(number) / "host.xplane.pb"
    raw.parent.mkdir(parents=True)
    raw.write_bytes(capture.serialized())
    window = folder.window(number)
    event = WindowCaptured(number, 0, number, 1, window.name, 0, 0, 1.0, 1.0, 0.0)
    job = Job(number, str(raw), None, str(window), 0, folder.worker, ["/device:CPU:0"])
    Pending(job, event).save(folder)
    return raw


def recorded(folder: WorkerFolder) -> tuple[list[WindowCaptured], list[str]]:
    """The windows and the notes on record."""
    events: list[Event] = read_events(folder.events)[0]
    windows = [event for event in events if isinstance(event, WindowCaptured)]
    return windows, [event.message for event in events if isinstance(event, Note)]


def test_each_last_capture_is_converted_once_and_recorded(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 1)
    raws = [leave_capture(folder, number) for number in (3, 4)]
    for _ in range(2):
        convert_last_captures([folder, worker_folder(tmp_path, 2)])
        windows, notes = recorded(folder)
        assert [(each.window, each.error) for each in windows] == [(3, None), (4, None)]
        assert len(notes) == 2
        assert "window 3 was converted after its worker had ended" in notes[0]
    for window in windows:
        file = folder.window(window.window) / "spans.parquet"
        assert pq.read_metadata(file).num_rows == window.tables["spans"].num_rows
        assert window.convert_ms > 0
    assert not any(raw.parent.exists() for raw in raws)
    assert not list(folder.path.glob(".*"))


def test_a_capture_that_cannot_be_converted_says_why_and_is_kept(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 0)
    damaged, missing = leave_capture(folder, 0), leave_capture(folder, 1)
    damaged.write_bytes(b"\xff\xff no capture")
    missing.unlink()
    leave_capture(folder, 2)
    cut = folder.pending(2)
    cut.write_bytes(cut.read_bytes()[:-20])
    outcomes = convert_last_captures([folder])
    windows, notes = recorded(folder)
    assert [each.window for each in windows] == [0, 1]
    assert [each.error for each in outcomes[:2]] == [each.error for each in windows]
    assert outcomes[2].capture == "worker-0-0/.pending-000002.json"
    assert "is damaged" in str(outcomes[2].error)
    assert "is not an XSpace message" in str(windows[0].error)
    assert "No such file" in str(windows[1].error)
    assert notes == []
    assert damaged.exists()


def killed_in_the_profiler(folder: WorkerFolder, number: int) -> Path:
    """A capture whose process is killed after the profiler has written it, before more is known."""
    raw = leave_capture(folder, number)
    pending = read_pending(folder)[0][-1]
    job = replace(pending.job, xplane="", graph=str(folder.graph(0)))
    Pending(job, pending.event, is_written=False).save(folder)
    return raw


def test_a_capture_that_the_profiler_had_just_written_is_converted(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 0)
    raw = killed_in_the_profiler(folder, 0)
    assert recover_captures(tmp_path) == [Outcome("worker-0-0/window-000000", None)]
    assert (folder.window(0) / "spans.parquet").is_file()
    assert not raw.parent.exists()


def test_a_raw_capture_just_moved_to_where_it_is_kept_is_converted(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 0)
    raw = killed_in_the_profiler(folder, 0)
    folder.kept_capture(0).mkdir(parents=True)
    kept = raw.rename(folder.kept_capture(0) / raw.name)
    assert recover_captures(tmp_path) == [Outcome("worker-0-0/window-000000", None)]
    assert (folder.window(0) / "spans.parquet").is_file()
    assert kept.exists()


def test_a_capture_that_the_profiler_had_not_written_is_recorded_as_lost(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 0)
    killed_in_the_profiler(folder, 0).unlink()
    (outcome,) = recover_captures(tmp_path)
    assert outcome.error == "Its process ended before the profiler had written it"
    ((window,), _) = recorded(folder)
    assert window.error == outcome.error
    assert recover_captures(tmp_path) == []


def test_a_raw_capture_without_a_description_says_how_to_open_it(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 0)
    raw = leave_capture(folder, 0)
    folder.pending(0).unlink()
    (outcome,) = recover_captures(tmp_path)
    assert outcome.capture == "worker-0-0/.window-000000"
    assert "its description was not written" in str(outcome.error)
    assert f"strategy-lab import {shlex.quote(str(raw))} opens" in str(outcome.error)
    assert raw.exists()


def test_a_converter_that_is_killed_leaves_the_raw_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = worker_folder(tmp_path, 0)
    raw = leave_capture(folder, 0)
    monkeypatch.setattr(last_captures, "_COMMAND", ["sh", "-c", "printf '{\"num'; kill -9 $$"])
    convert_last_captures([folder])
    ((window,), _) = recorded(folder)
    assert "so did the process that tried it then; the raw capture is kept" in str(window.error)
    assert raw.exists()
    assert not folder.all_pending()


def test_waiting_for_the_converter_has_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = worker_folder(tmp_path, 0)
    leave_capture(folder, 0)
    monkeypatch.setattr(last_captures, "_COMMAND", ["sleep", "3600"])
    convert_last_captures([folder], timeout_s=0.1)
    assert recorded(folder)[0][0].error is not None


def test_a_launcher_does_it_for_its_own_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ended them. Another host's workers may be alive."""
    converted_folders = []
    monkeypatch.setattr(
        "strategy_core.launcher.run_control.convert_last_captures",
        lambda folders: converted_folders.append([each.path.name for each in folders]),
    )
    with Launcher(worker_command=FORKED) as launcher:
        spec = RunSpec(devices="cpu:2", steps=10, workload_options={"accident": "segfault"})
        handle = launcher.launch(spec, tmp_path / "run")
        (tmp_path / "run" / "worker-1-0").mkdir()
        assert handle.wait(MAX_WAIT_S)
    assert converted_folders == [["worker-0-0"]]


def test_a_renamed_run_is_converted_where_it_is(tmp_path: Path) -> None:
    leave_capture(worker_folder(tmp_path / "run", 0), 0)
    renamed = (tmp_path / "run").rename(tmp_path / "renamed")
    (outcome,) = recover_captures(renamed)
    assert outcome == Outcome("worker-0-0/window-000000", None)
    assert (renamed / "worker-0-0" / "window-000000" / "spans.parquet").is_file()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("xplane", "/etc/hostname"),
        ("xplane", "worker-0-0/../../elsewhere"),
        ("xplane", "worker-0-0/pipe"),
        ("graph", "/worker-0-0/../../elsewhere"),
        ("hosts", ["elsewhere"]),
        ("worker", 1),
        ("number", 5),
    ],
)
def test_files_outside_of_the_folder_are_not_read(
    tmp_path: Path, field: str, value: object
) -> None:
    run = tmp_path / "run"
    (tmp_path / "elsewhere").write_bytes(b"")
    folder = worker_folder(run, 0)
    leave_capture(folder, 0)
    os.mkfifo(folder.path / "pipe")
    (left,), _ = read_pending(folder)
    Pending(replace(left.job, **{field: value}), left.event).save(folder)
    if field == "number":
        folder.pending(5).rename(folder.pending(0))
    (outcome,) = recover_captures(run)
    assert "names files outside of the run" in str(outcome.error)
    assert recorded(folder) == ([], [])


@pytest.mark.parametrize("name", [".window-000000.part", "events.jsonl", "window-000000"])
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = worker_folder(tmp_path / "run", 0)
    leave_capture(folder, 0)
    (folder.path / name).symlink_to(elsewhere)
    with pytest.raises(RunFolderError, match="is a link"):
        recover_captures(tmp_path / "run")
    assert not any(elsewhere.iterdir())


def test_a_process_that_runs_converts_its_own(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 0)
    leave_capture(folder, 0)
    log = EventLog(folder.events)
    log.write(WorkerStarted(0, os.getpid(), time.time_ns(), time.monotonic_ns()))
    log.write(Failed("The run is over by this, and the process is not."))
    log.close()
    with pytest.raises(RunFolderError, match="still runs and converts its captures itself"):
        recover_captures(tmp_path)
    assert recorded(folder)[0] == []


def test_of_two_conversions_at_once_one_finds_no_capture(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 0)
    leave_capture(folder, 0)
    with ThreadPoolExecutor(2) as both:
        outcomes = list(both.map(lambda _: convert_last_captures([folder]), range(2)))
    assert sorted(map(len, outcomes)) == [0, 1]
    assert len(recorded(folder)[0]) == 1


def test_a_capture_that_ends_its_converter_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = worker_folder(tmp_path, 0)
    for number in (0, 1):
        leave_capture(folder, number)
    helper = shlex.join(last_captures._COMMAND)
    ending = f"read job; case $job in *window-000000*) kill -9 $$;; esac; echo $job | {helper}"
    monkeypatch.setattr(last_captures, "_COMMAND", ["bash", "-c", ending])
    assert [each.error is None for each in convert_last_captures([folder])] == [False, True]
