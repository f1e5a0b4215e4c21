"""Loading a run folder: whole, odd, hostile, or none at all."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.run.manifest import create_run_file
from strategy_profiles.run.tail import Tail
from strategy_profiles.tables import store
from strategy_profiles.tables.schema import TABLES
from tests.event_records import read_records, write_records
from tests.synthetic import HOSTILE, write_run

CAUSES = [{"kind": "tracing", "name": "train_step", "count": 1, "total_ms": 1.0, "held_ms": 1.0}]
OF_CLUSTERS = ("links", "closures", "served")
"""Tables that only runs of several processes have rows in."""


def test_a_copied_run_has_the_name_of_its_own_folder(tmp_path: Path) -> None:
    run = write_run(tmp_path / "first", steps=5, windows=0)
    shutil.copytree(run, tmp_path / "second")
    assert [strategy_profiles.load(tmp_path / name).name for name in ("first", "second")] == [
        "first",
        "second",
    ]


def test_a_whole_run_has_every_table_with_exactly_its_columns(tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run", replicas=4, steps=60, contexts=True, strategy="tpu", causes=CAUSES
    )
    profile = strategy_profiles.load(run)
    assert profile.notes == ()
    assert profile.status.state == "finished"
    assert (profile.spec or {})["workload"] == "digits-cnn"
    for name, schema in TABLES.items():
        assert profile.table(name).schema == schema
        assert (profile.table(name).num_rows > 0) == (name not in OF_CLUSTERS), name
    assert profile.table("steps").num_rows == 60
    assert profile.table("marks").num_rows == 60 * 4


def test_a_replicas_phases_add_up_to_its_step(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", straggler=(1, 30.0)))
    for row in profile.table("replica_steps").to_pylist():
        parts = sum(row[f"{phase}_ms"] for phase in ("compute", "wait", "transfer", "input"))
        assert math.isclose(parts + row["idle_ms"], row["wall_ms"], rel_tol=1e-9)


def test_reconfigurations_and_worker_generations_are_one_run(tmp_path: Path) -> None:
    segments = [{}, {"replicas": 2}, {"replicas": 4, "moved": "fresh-worker"}]
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=90, segments=segments))
    assert [segment.num_replicas for segment in profile.segments] == [4, 2, 4]
    assert profile.table("steps")["step"].to_pylist() == list(range(90))
    assert {source.generation for source in profile.sources} == {None, 0, 1}


def test_a_step_of_several_workers_counts_once(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=30, workers=2))
    assert profile.table("steps")["step"].to_pylist() == list(range(30))
    marks = profile.table("marks").to_pylist()
    assert {(row["worker"], row["replica"]) for row in marks} == {(0, 0), (0, 1), (1, 2), (1, 3)}


def test_workers_that_share_a_host_are_compared_by_their_marks(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30, workers=2, straggler=(3, 30.0))
    waits = strategy_profiles.load(run).sql(
        "select replica, median(wait_ms) from marks where step > 0 group by replica order by 1"
    )
    first, *_, last = waits.column(1).to_pylist()
    assert last == 0.0
    assert 25 < first < 35


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", prefix=HOSTILE, steps=30))
    names = profile.table("placement")["name"].to_pylist()
    assert all(name.startswith(HOSTILE) for name in names)


def test_marks_of_a_step_without_any_are_absent_not_zero(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", marks=False, steps=30))
    assert profile.table("marks").num_rows == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "step", "segment": 0, "step": "x", "start_ns": 1, "wall_ms": 2}',
        '{"kind": "step", "segment": 0}',
        '{"kind": "step", "segment": 0, "step": 1e99, "start_ns": 1, "wall_ms": 2}',
        '{"kind": "step", "segment": [0], "step": {}, "start_ns": 1, "wall_ms": 2}',
        '{"kind": "step", "segment": 0, "step": 99999999999999999999, "start_ns": 1, "wall_ms": 2}',
        '{"kind": "step", "segment": true, "step": 5, "start_ns": 1, "wall_ms": 2}',
    ],
)
def test_an_event_that_does_not_fit_is_left_out_and_noted(tmp_path: Path, line: str) -> None:
    run = write_run(tmp_path / "run", steps=30)
    with (run / "worker-0-0/events.jsonl").open("a") as file:
        file.write(line + "\n")
    profile = strategy_profiles.load(run)
    assert profile.table("steps").num_rows == 30
    assert any("1 line is left out (step: " in note for note in profile.notes)
    json.dumps(profile.summary(), allow_nan=False)


@pytest.mark.parametrize(
    "line",
    ["nonsense", "\x00\x00\x00", '{"no": "kind"}', "[" * 100_000, '{"kind": 3}', "17"],
)
def test_a_line_that_is_no_event_is_left_out_and_noted(tmp_path: Path, line: str) -> None:
    run = write_run(tmp_path / "run", steps=30)
    events = run / "worker-0-0/events.jsonl"
    events.write_text(line + "\n" + events.read_text())
    profile = strategy_profiles.load(run)
    assert profile.table("steps").num_rows == 30
    (noted,) = profile.notes
    assert noted.startswith("worker-0-0/events.jsonl: 1 line is left out (line: ")


def test_a_damaged_parquet_file_is_noted_and_the_others_are_read(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=200, windows=3)
    whole = strategy_profiles.load(run).table("spans").num_rows
    file = run / "worker-0-0/window-000001/spans.parquet"
    data = bytearray(file.read_bytes())
    data[100:-100] = b"\xff" * (len(data) - 200)
    file.write_bytes(bytes(data))
    profile = strategy_profiles.load(run)
    assert profile.table("spans").num_rows == whole * 2 // 3
    assert any("spans.parquet in window-000001 cannot be read" in note for note in profile.notes)


def test_a_folder_that_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"No run folder at .*nowhere"):
        strategy_profiles.load(tmp_path / "nowhere")
    with pytest.raises(RunFolderError, match=r"neither run\.json nor a worker's folder"):
        strategy_profiles.load(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunFolderError, match="file is a file, not a run folder"):
        strategy_profiles.load(tmp_path / "file")


@pytest.mark.parametrize("deleted_after", ["read_run_file", "read_sources"])
def test_a_run_that_is_deleted_while_it_is_read_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deleted_after: str
) -> None:
    run = write_run(tmp_path / "run", steps=20, windows=1)
    read = getattr(store, deleted_after)

    def read_and_delete(*arguments: Any) -> Any:
        contents = read(*arguments)
        shutil.rmtree(run)
        return contents

    monkeypatch.setattr(store, deleted_after, read_and_delete)
    with pytest.raises(RunFolderError, match=r"run folder .* cannot be read: No such file"):
        store.load(run)


def test_a_run_that_has_only_begun_is_readable(tmp_path: Path) -> None:
    create_run_file(tmp_path / "run", {"workload": "digits-cnn"})
    profile = strategy_profiles.load(tmp_path / "run")
    assert profile.segments == ()
    assert profile.environment is None
    assert profile.summary()["segments"] == []
    assert profile.table("steps").num_rows == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"spec": 3, "created_ns": "x"}'])
def test_a_half_written_run_json_is_a_note(tmp_path: Path, text: str) -> None:
    run = write_run(tmp_path / "run", steps=30)
    (run / "run.json").write_text(text)
    profile = strategy_profiles.load(run)
    assert profile.spec is None
    assert profile.table("steps").num_rows == 30


def test_an_unknown_table_names_the_known_ones(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=30))
    with pytest.raises(LabError, match=r"no table 'step'. Choose one of segments, steps"):
        profile.table("step")


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    create_run_file(tmp_path / "run")
    with pytest.raises(RunFolderError, match="run holds another run already"):
        create_run_file(tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["run.json"]


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30, windows=1)
    for name in ("run.json", "launcher.jsonl", "worker-0-0/window-000000/spans.parquet"):
        (run / name).unlink()
        os.mkfifo(run / name)
    profile = strategy_profiles.load(run)
    assert profile.identity is None
    assert any(
        "run.json is damaged (it is not a file, but a pipe)" in note for note in profile.notes
    )
    assert profile.table("spans").num_rows == 0
    assert Tail(run).read()


def test_a_replica_whose_device_the_segment_does_not_name_has_none(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30, windows=0)
    events = run / "worker-0-0/events.jsonl"
    unnamed = {"replica_devices": []}
    records = read_records(events)
    write_records(events, [r | unnamed if r["kind"] == "segment" else r for r in records])
    marks = strategy_profiles.load(run).table("marks")
    assert set(marks["device"].to_pylist()) == {None}
    pq.write_table(marks, tmp_path / "marks.parquet")


def test_thread_numbers_use_all_64_bits(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30, windows=1)
    file = run / "worker-0-0/window-000000/spans.parquet"
    spans = pq.read_table(file)
    index = spans.schema.get_field_index("thread")
    ends = pa.array([2**63 - 1, -(2**63)] * spans.num_rows, pa.int64()).slice(0, spans.num_rows)
    pq.write_table(spans.set_column(index, "thread", ends), file)
    profile = strategy_profiles.load(run)
    assert set(profile.table("spans")["thread"].to_pylist()) == {2**63 - 1, -(2**63)}
    assert profile.notes == ()
