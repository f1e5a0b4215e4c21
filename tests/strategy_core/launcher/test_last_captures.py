"""Captures of workers that were lost before they were converted are converted by the launcher."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from strategy_core.launcher import last_captures
from strategy_core.launcher.last_captures import convert_last_captures
from strategy_core.launcher.launcher import Launcher
from strategy_lab.profiles.capture.helper import Job
from strategy_lab.profiles.capture.pending import Pending
from strategy_lab.profiles.run.event_log import read_events
from strategy_lab.profiles.run.events import Event, Note, WindowCaptured
from strategy_lab.profiles.run.layout import WorkerFolder, worker_folder
from strategy_lab.profiles.spec.run_spec import RunSpec
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


def test_each_is_converted_once_and_recorded(tmp_path: Path) -> None:
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


def test_what_cannot_be_converted_says_why_and_is_kept(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 0)
    damaged, missing = leave_capture(folder, 0), leave_capture(folder, 1)
    damaged.write_bytes(b"\xff\xff no capture")
    missing.unlink()
    leave_capture(folder, 2)
    cut = folder.pending(2)
    cut.write_bytes(cut.read_bytes()[:-20])
    convert_last_captures([folder])
    windows, notes = recorded(folder)
    assert [each.window for each in windows] == [0, 1]
    assert "is not an XSpace message" in str(windows[0].error)
    assert "No such file" in str(windows[1].error)
    assert notes == []
    assert damaged.exists()


def test_losing_the_converter_loses_no_more(
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
    asked = []
    monkeypatch.setattr(
        "strategy_core.launcher.run_control.convert_last_captures",
        lambda folders: asked.append([each.path.name for each in folders]),
    )
    with Launcher(worker_command=FORKED) as launcher:
        spec = RunSpec(devices="cpu:2", steps=10, workload_options={"accident": "segfault"})
        handle = launcher.launch(spec, tmp_path / "run")
        (tmp_path / "run" / "worker-1-0").mkdir()
        assert handle.wait(MAX_WAIT_S)
    assert asked == [["worker-0-0"]]
