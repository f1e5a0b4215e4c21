"""What events say was recorded and is not there, or belongs to another run, is noted."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.capture.convert import write_tables
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import TableFile
from strategy_profiles.run.events import WindowCaptured
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import uid_of
from strategy_profiles.run.status import Status
from strategy_profiles.tables.schema import TABLES
from tests.event_records import read_records, write_records
from tests.profiles.served_run import write_served_run
from tests.synthetic import write_run


def noted(run: Path) -> str:
    profile = strategy_profiles.load(run)
    for name in TABLES:
        profile.table(name)
    return "\n".join(profile.notes)


def test_a_whole_run_has_no_notes(tmp_path: Path) -> None:
    assert noted(write_run(tmp_path / "run", steps=40, windows=1, workers=2)) == ""


def test_without_a_workers_folder_waits_are_unknown_and_not_0(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, workers=2, straggler=(3, 17.0))
    whole = strategy_profiles.load(run).summary()["segments"][0]
    assert whole["replicas"][0]["wait_ms"] > 15
    shutil.rmtree(run / "worker-1-0")
    profile = strategy_profiles.load(run)
    assert profile.status.state == "finished"
    segment = profile.summary()["segments"][0]
    replica = segment["replicas"][0]
    assert replica["compute_ms"] > 0
    for name in ("wait_ms", "transfer_ms"):
        assert replica[name] is None
        assert "the records of worker 1 are missing" in replica[f"{name}_reason"]
    assert segment["straggler"] is None
    assert segment["collectives"][0]["busbw_gbps"] is None
    assert set(profile.table("marks")["wait_ms"].to_pylist()) == {None}
    text = "\n".join(profile.notes)
    assert "worker-1-0 is missing, although launcher.jsonl mentions that process" in text
    assert "Segment 0 has 2 workers, and the records of 1 are not in this folder" in text


def test_a_finished_workers_missing_events_are_noted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, workers=2)
    worker_folder(run, 0).events.unlink()
    assert "worker-0-0/events.jsonl is missing, although launcher.jsonl mentions" in noted(run)


@pytest.mark.parametrize("name", ["launcher.jsonl", "worker-0-0/events.jsonl"])
@pytest.mark.parametrize("target", ["events.jsonl", "nowhere"])
def test_events_that_are_a_link_to_nowhere_are_noted(
    name: str, target: str, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1)
    (run / name).unlink()
    (run / name).symlink_to(target)
    assert f"{name} is not a file: its events are left out" in noted(run)


def test_a_folder_with_an_enormous_worker_number_is_not_part_of_the_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1)
    worker_folder(run, 0).path.rename(run / "worker-99999999999999999999-0")
    assert "worker-0-0 is missing" in noted(run)
    assert strategy_profiles.load(run).table("steps").num_rows == 0


def test_events_that_name_no_run_beside_others_that_do_are_noted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, workers=2)
    events = worker_folder(run, 1).events
    first, *rest = read_records(events)
    write_records(events, [first | {"run": ""}, *rest])
    assert "worker-1-0 names no run, unlike other files: it may be of another run" in noted(run)


def test_a_worker_whose_events_were_emptied_is_absent(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, workers=2)
    (run / "worker-1-0" / "events.jsonl").write_bytes(b"")
    assert "the records of 1 are not in this folder: waits across workers" in noted(run)


@pytest.mark.parametrize(
    ("gone", "note"),
    [
        ("window-000000", "of worker-0-0/window-000000 are missing"),
        ("window-000000/spans.parquet", "spans.parquet of worker-0-0/window-000000 is missing"),
        ("placement-000.parquet", "placement-000.parquet of worker-0-0 is missing"),
    ],
)
def test_a_deleted_file_is_noted(tmp_path: Path, gone: str, note: str) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1)
    path = run / "worker-0-0" / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert note in noted(run)


def test_a_table_of_another_run_is_left_out_and_noted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1)
    folder = worker_folder(run, 0)
    tables = {name: strategy_profiles.load(run).table(name) for name in ("spans", "replica_steps")}
    written = write_tables(tables, folder.path / "window-000007")
    log = EventLog(folder.events)
    files = {name: TableFile(**fields) for name, fields in written.items()}
    log.write(WindowCaptured(7, 0, 1, 10, "window-000007", 1, 1, 1.0, 1.0, 1.0, tables=files))
    log.close()
    assert noted(run) == ""
    twice = strategy_profiles.load(run).table("spans").num_rows
    target = folder.path / "window-000007/spans.parquet"
    rows = tables["spans"]
    turned = rows.take(list(reversed(range(rows.num_rows))))
    write_tables({"spans": turned}, tmp_path / "other")
    shutil.copyfile(tmp_path / "other/spans.parquet", target)
    profile = strategy_profiles.load(run)
    assert profile.table("spans").num_rows == twice // 2
    assert "spans.parquet in window-000007 is not what the run wrote" in "\n".join(profile.notes)


Lines = list[bytes]


@pytest.mark.parametrize("kind", ["segment", "step", "memory", "window"])
@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda lines, at: lines[:at] + lines[at + 1 :], "1 line is missing"),
        (lambda lines, at: [*lines[: at + 1], *lines[at:]], "1 line is left out (line: it is"),
    ],
)
def test_a_line_that_is_gone_or_there_twice_is_noted(
    tmp_path: Path, kind: str, change: Callable[[Lines, int], Lines], note: str
) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=2)
    events = worker_folder(run, 0).events
    before = strategy_profiles.load(run).summary()["segments"]
    lines = events.read_bytes().splitlines(keepends=True)
    at = max(i for i, line in enumerate(lines) if b'"kind":"%s"' % kind.encode() in line)
    events.write_bytes(b"".join(change(lines, at)))
    assert f"worker-0-0/events.jsonl: {note}" in noted(run)
    if "left out" in note:
        assert strategy_profiles.load(run).summary()["segments"] == before


def test_a_file_that_was_cut_between_two_lines_is_noted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, workers=2)
    events = worker_folder(run, 1).events
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join(lines[:-10]))
    note = "The end of worker-1-0/events.jsonl is missing: what the process recorded last is"
    assert note in noted(run)


@pytest.mark.parametrize("ending", ["finished", "failed"])
def test_a_launchers_file_that_was_cut_between_two_lines_is_noted(
    tmp_path: Path, ending: str
) -> None:
    """What the run used of its machine is written before the end of its process."""
    run = write_run(tmp_path / "run", steps=40, workers=2, ending=ending)
    launcher = run / "launcher.jsonl"
    lines = launcher.read_bytes().splitlines(keepends=True)
    launcher.write_bytes(b"".join(lines[:2]))
    note = "The end of launcher.jsonl is missing: what the launcher recorded last is unknown"
    assert noted(run) == note


@pytest.mark.parametrize("content", [b"", b"\n"])
def test_a_launchers_file_that_is_empty_is_noted(tmp_path: Path, content: bytes) -> None:
    run = write_run(tmp_path / "run", steps=40)
    (run / "launcher.jsonl").write_bytes(content)
    assert noted(run) == "launcher.jsonl is empty: what the launcher recorded is lost"


def test_a_damaged_line_is_not_missing_as_well(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1)
    events = worker_folder(run, 0).events
    events.write_bytes(events.read_bytes().replace(b'{"kind":"step"', b'{"kind":"stop"', 1))
    assert "missing" not in noted(run)
    assert "1 line is left out (unknown kind" in noted(run)


@pytest.mark.slow
def test_a_changed_digit_of_a_line_is_noted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=12, windows=0)
    events = worker_folder(run, 0).events
    data = events.read_bytes()
    digits = [match.start() for match in re.finditer(rb"\d", data)]
    digits = [at for at in digits if b"crc" not in data[at - 4 : at]]  # the key itself
    for at in random.Random(0).sample(digits, 200):
        other = b"%d" % ((data[at] - ord("0") + 3) % 10)
        events.write_bytes(data[:at] + other + data[at + 1 :])
        assert "events.jsonl: 1 line is left out" in noted(run), data[at - 40 : at + 20]


def test_events_in_the_place_of_other_events_do_not_count_twice(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1)
    before = strategy_profiles.load(run).summary()["segments"]
    launcher, worker = run / "launcher.jsonl", worker_folder(run, 0).events
    written = launcher.read_bytes()
    launcher.write_bytes(worker.read_bytes())
    profile = strategy_profiles.load(run)
    assert profile.summary()["segments"] == before
    assert "launcher.jsonl holds the events of a worker and is ignored" in profile.notes
    launcher.write_bytes(written)
    worker.write_bytes(written)
    assert "worker-0-0/events.jsonl holds the events of a launcher" in noted(run)


def test_a_copy_of_a_workers_folder_does_not_count_twice(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1)
    before = strategy_profiles.load(run).summary()["segments"]
    shutil.copytree(worker_folder(run, 0).path, worker_folder(run, 0, 1).path)
    profile = strategy_profiles.load(run)
    assert profile.summary()["segments"] == before
    note = "worker-0-1/events.jsonl is a copy of worker-0-0/events.jsonl and is ignored"
    assert note in profile.notes


def test_the_file_of_one_worker_in_the_place_of_another_is_noted(tmp_path: Path) -> None:
    run = write_served_run(tmp_path / "run")
    other = write_served_run(tmp_path / "other")
    shutil.copy(worker_folder(other, 1).events, worker_folder(run, 0).events)
    assert "worker-0-0/events.jsonl holds the events of worker 1 and is ignored" in noted(run)


def test_a_launchers_file_of_another_run_is_left_out_and_noted(tmp_path: Path) -> None:
    run, other = (write_run(tmp_path / name, steps=40) for name in ("run", "other"))
    shutil.copyfile(other / "launcher.jsonl", run / "launcher.jsonl")
    profile = strategy_profiles.load(run)
    assert {source.worker for source in profile.sources} == {0}
    assert profile.notes == ("launcher.jsonl belongs to another run and is ignored",)


def test_a_run_file_of_another_run_is_left_out_and_noted(tmp_path: Path) -> None:
    run, other = (write_run(tmp_path / name, steps=40) for name in ("run", "other"))
    shutil.copyfile(other / "run.json", run / "run.json")
    profile = strategy_profiles.load(run)
    assert profile.table("steps").num_rows == 40
    assert profile.spec is None
    (note,) = profile.notes
    assert note == "run.json belongs to another run: what was asked of this one is unknown"


def test_a_placement_of_another_run_is_left_out_and_noted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, checksums=True)
    other = write_run(tmp_path / "other", steps=40, prefix="other/")
    shutil.copyfile(*(worker_folder(folder, 0).placement(0) for folder in (other, run)))
    assert "placement-000.parquet in worker-0-0 is not what the run wrote" in noted(run)


def test_a_workers_folder_of_another_run_is_left_out_and_noted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, workers=2)
    other = worker_folder(run, 1)
    for folder in (worker_folder(run, 0), other):
        first, *rest = read_records(folder.events)
        uid = uid_of(run) if folder.worker == 0 else "of another run"
        write_records(folder.events, [first | {"run": uid}, *rest])
    profile = strategy_profiles.load(run)
    assert {source.worker for source in profile.sources} == {None, 0}
    assert set(profile.table("spans")["worker"].to_pylist()) == {0}
    assert "worker-1-0 belongs to another run and is ignored" in profile.notes


def test_a_window_that_no_event_reports_is_ignored(tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", steps=40, windows=2, checksums=True)
    run = write_run(tmp_path / "run", steps=40, windows=2, checksums=True)
    before = strategy_profiles.load(run).summary()["segments"]
    stray = run / "worker-0-0" / "window-000009"
    stray.mkdir()
    shutil.copy(other / "worker-0-0" / "window-000001" / "collectives.parquet", stray)
    profile = strategy_profiles.load(run)
    assert profile.summary()["segments"] == before
    (note,) = profile.notes
    assert note == (
        "collectives.parquet of worker-0-0/window-000009 may be of another run and is ignored: "
        "no event reports it"
    )


def test_a_window_of_a_running_run_is_read_when_its_event_is_there(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=2, checksums=True, ending=None)
    (run / "worker-0-0" / "window-000001").rename(run / "worker-0-0" / "window-000005")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "strategy_profiles.tables.store.derive_status", lambda _sources: Status("running")
        )
        profile = strategy_profiles.load(run)
    assert {Path(path).parent.name for path in profile.files["spans"]} == {"window-000000"}
    assert not any("no event reports" in note for note in profile.notes)
