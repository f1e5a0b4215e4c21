"""The input pipeline of a recorded run, stage by stage, and the stage that limits."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_profiles.analysis.input_stages import input_stages
from strategy_profiles.analysis.summary import summarize
from strategy_profiles.capture import xspace
from strategy_profiles.capture.convert import WindowOf, to_tables
from strategy_profiles.capture.graph import Graph
from strategy_profiles.capture.joined import join
from strategy_profiles.tables.schema import TABLES
from tests.profiles.capture.xspace_builder import CaptureBuilder
from tests.synthetic import write_run

RUN = Path(__file__).parents[2] / "data/input_stages"
LIMITING = "Iterator::Root::Prefetch::MapAndBatch"
MS = 1_000_000


def test_the_recorded_pipeline_is_a_row_per_stage() -> None:
    stages = input_stages(strategy_profiles.load(RUN), 0)
    assert [(stage.name, stage.depth) for stage in stages.stages] == [
        ("Root", 0),
        ("Prefetch", 1),
        ("MapAndBatch", 2),
        ("Shuffle", 3),
        ("Range", 4),
    ]
    assert [stage.parent for stage in stages.stages][:3] == [
        None,
        "Iterator::Root",
        "Iterator::Root::Prefetch",
    ]


def test_settings_are_those_that_tf_data_chose_or_was_given() -> None:
    root, prefetch, mapped, shuffle, _ = input_stages(strategy_profiles.load(RUN), 0).stages
    assert (prefetch.buffer_size, prefetch.is_autotuned) == (2, True)
    assert (mapped.parallelism, mapped.is_autotuned) == (2, True)
    assert (shuffle.buffer_size, shuffle.buffered, shuffle.is_autotuned) == (64, 63.0, None)
    assert (root.parallelism, root.buffer_size, root.buffered) == (None, None, None)


def test_the_limiting_stage_is_named_with_its_wait_and_settings() -> None:
    stages = input_stages(strategy_profiles.load(RUN), 0)
    assert stages.limiting is not None
    assert stages.limiting.path == LIMITING
    assert stages.sentence == (
        "The limiting stage is MapAndBatch: a step waits 4.52 ms for it (mean of 3 captured "
        "steps); it makes 2 at a time, chosen by tf.data."
    )


@pytest.mark.parametrize("is_distributed", [True, False])
def test_a_step_that_waits_for_tf_distribute_blames_no_stage_of_the_program(
    is_distributed: bool, tmp_path: Path
) -> None:
    """The same stages that the program itself made are not those of tf.distribute."""
    held_ms = {"Iterator::Root::Prefetch::Generator": 16.0, "Iterator::Root::Prefetch::Map": 0.5}
    causes = [
        {"kind": "input-stage", "name": name, "count": 1, "total_ms": ms, "held_ms": ms}
        for name, ms in held_ms.items()
    ]
    run = write_run(tmp_path / "run", windows=1, window_steps=4, causes=causes)
    added = [{"name": name, "dataset": None} for name in held_ms]
    if is_distributed:
        added.append({"name": "Iterator::Root::Prefetch", "dataset": "device_prefetch"})
    for file in run.rglob("input_stages.parquet"):
        rows = pq.read_table(file).to_pylist()
        rows += [row | new for row in rows for new in added]
        pq.write_table(pa.Table.from_pylist(rows, schema=TABLES["input_stages"]), file)
    input_path = input_stages(strategy_profiles.load(run), 0)
    assert input_path.limiting is not None
    assert input_path.limiting.name == "Map"
    assert input_path.sentence.startswith(
        "A step waits 16.0 ms while tf.distribute hands batches to devices (mean of 4 captured "
        "steps). Of the program's own stages, it waits longest for Map: 0.500 ms."
        if is_distributed
        else "The limiting stage is Map: a step waits 0.500 ms for it"
    )


def test_the_summary_has_the_stages() -> None:
    (segment,) = summarize(strategy_profiles.load(RUN))["segments"]
    assert segment["input_stages"]["limiting"] == LIMITING
    assert [row.get("parallelism") for row in segment["input_stages"]["stages"]][2] == 2


def test_without_the_table_the_number_of_its_steps_is_missing_and_not_0(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1)
    for file in run.rglob("input_stages.parquet"):
        file.unlink()
    stages = strategy_profiles.load(run).summary()["segments"][0]["input_stages"]
    assert stages["steps"] is None
    assert stages["steps_reason"]


def test_converting_the_recorded_capture_again_gives_the_same_rows() -> None:
    capture = next(RUN.rglob("*.xplane.pb")).read_bytes()
    joined = join(xspace.decode(capture), Graph([], []))
    rows = to_tables(joined, WindowOf(0, 0))["input_stages"].to_pylist()
    recorded = strategy_profiles.load(RUN).table("input_stages").to_pylist()
    assert {(row["name"], row["dataset"]) for row in rows} == {
        (row["name"], row["dataset"]) for row in recorded
    }
    assert rows == recorded


def test_a_run_without_stages_says_so() -> None:
    input_path = input_stages(strategy_profiles.load(RUN.parent / "captured_step"), 0)
    assert input_path.stages == ()
    assert input_path.sentence.startswith("The stages of the input are not known: no captured step")


class TestHandDrawnCapture:
    def rows(self, capture: CaptureBuilder) -> dict[str, dict[str, object]]:
        joined = join(xspace.decode(capture.serialized()), Graph([], []))
        table_rows = to_tables(joined, WindowOf(0, 0))["input_stages"].to_pylist()
        return {row["name"].rpartition("::")[2]: row for row in table_rows}

    def test_own_time_leaves_out_the_stages_below_in_the_same_thread(self) -> None:
        capture = CaptureBuilder()
        capture.step(3, 0, 100 * MS)
        capture.add("Iterator::Root::Batch", 10 * MS, 60 * MS, name="BatchDataset:1")
        capture.add("Iterator::Root::Batch::Map", 20 * MS, 30 * MS)
        capture.add("Iterator::Root::Batch::Map", 40 * MS, 45 * MS)
        capture.add("Iterator::Root::Batch::Map", 50 * MS, 90 * MS, "another thread")
        rows = self.rows(capture)
        assert (rows["Batch"]["total_ms"], rows["Batch"]["self_ms"]) == pytest.approx((50.0, 35.0))
        assert (rows["Batch"]["dataset"], rows["Batch"]["step"]) == ("BatchDataset:1", 3)
        assert (rows["Map"]["count"], rows["Map"]["self_ms"]) == (3, pytest.approx(55.0))

    def test_a_setting_in_words_is_missing_and_not_a_number(self) -> None:
        capture = CaptureBuilder()
        capture.step(0, 0, 100)
        settings = {"autotune": "true", "buffer_size": 0, "buffered_elements": 0}
        capture.add("Iterator::Root::Map", 10, 20, parallelism="unavailable", **settings)
        row = self.rows(capture)["Map"]
        assert row["parallelism"] is None
        assert (row["buffer_size"], row["buffered"], row["autotuned"]) == (0, 0.0, True)

    def test_elements_between_steps_are_in_no_row(self) -> None:
        capture = CaptureBuilder()
        capture.step(0, 0, 100)
        capture.add("Iterator::Root::Map", 110, 120)
        assert self.rows(capture) == {}
