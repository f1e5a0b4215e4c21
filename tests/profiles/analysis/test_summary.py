"""The summary that checks and scripts of users hold on to."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import strategy_profiles
from strategy_core.cli._summary_text import print_summary
from strategy_profiles.analysis.compare.run_comparison import compare_runs
from strategy_profiles.analysis.summary import summarize
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import Threads
from strategy_profiles.run.events import Note
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import HOSTILE, write_run


def keys_without_reason(document: Any, path: str = "") -> list[str]:
    """Paths of null values that no `_reason` beside them explains."""
    if isinstance(document, list):
        return [
            k for i, item in enumerate(document) for k in keys_without_reason(item, f"{path}.{i}")
        ]
    if not isinstance(document, dict):
        return []
    missing_keys = []
    for key, value in document.items():
        if value is None and f"{key}_reason" not in document:
            missing_keys.append(f"{path}.{key}".lstrip("."))
        missing_keys += keys_without_reason(value, f"{path}.{key}")
    return missing_keys


def test_a_note_says_which_segment_has_the_graph_of_a_first_trace(tmp_path: Path) -> None:
    again = [{"step": step, "function": "train_step", "num_traces": 1} for step in (7, 9)]
    run = write_run(tmp_path / "run", steps=40, segments=[{"retraced": again}, {}])
    note = (
        "Graph, placement and sizes of collectives of segment 0 are of the first trace. "
        "train_step was traced again in 2 steps, first in step 7."
    )
    assert strategy_profiles.load(run).summary()["notes"] == [{"level": "info", "message": note}]
    bare = write_run(tmp_path / "bare", steps=40, retraced=again, placement=False)
    assert strategy_profiles.load(bare).summary()["notes"] == []


def test_the_summary_has_what_it_promises(tmp_path: Path) -> None:
    run = write_run(tmp_path / "mine", replicas=4, steps=100, straggler=(2, 30.0))
    summary = json.loads(json.dumps(strategy_profiles.load(run).summary(), allow_nan=False))
    assert {"schema_version": 1, "run": "mine", "status": "finished"}.items() <= summary.items()
    assert summary["environment"]["tensorflow"] == "2.21.0"
    assert summary["environment"]["host"]["cpus"] == 2
    (segment,) = summary["segments"]
    assert segment["strategy"] == "mirrored"
    assert segment["num_replicas"] == 4
    assert segment["global_batch_size"] == 256
    assert segment["steps"]["count"] == 100
    wall = segment["steps"]["wall_ms"]
    assert wall["p10"] <= wall["median"] <= wall["p90"] < 60
    assert segment["steps"]["examples_per_second"] == pytest.approx(256 / 0.0535, rel=0.05)
    assert [replica["replica"] for replica in segment["replicas"]] == [0, 1, 2, 3]
    (collective,) = segment["collectives"]
    assert (collective["op"], collective["per_step"], collective["group_size"]) == (
        "all-reduce",
        2,
        4,
    )
    assert segment["bytes_per_step"]["collective"] == collective["bytes"] == 2_359_296
    assert len(segment["placement"]["ops"]) == len(segment["placement"]["variables"]) == 4
    assert segment["straggler"]["replica"] == 2
    assert segment["straggler"]["late_ms"] == pytest.approx(30, rel=0.05)
    assert segment["loss"]["first"] > segment["loss"]["last"]
    assert segment["capture"]["windows"] == 3
    assert segment["capture"]["steps"] == 30
    assert segment["capture"]["overhead_ratio"] > 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"replicas": 1, "strategy": "one-device"},
        {"windows": 0, "marks": False, "placement": False, "memory": False},
        {"captured": False},
        {"steps": 1},
        {"steps": 0},
        {"nan_loss_from": 0},
        {"missing": ("run.json", "launcher", "environment", "collectives", "replica_steps")},
        {"ending": None},
        {"ending": "failed", "prefix": HOSTILE},
        {"segments": [{}, {"replicas": 2, "moved": "fresh-worker"}]},
    ],
    ids=str,
)
def test_a_missing_value_is_null_with_its_reason(tmp_path: Path, options: dict[str, Any]) -> None:
    run = write_run(tmp_path / "run", **{"steps": 30, **options})
    summary = json.loads(json.dumps(strategy_profiles.load(run).summary(), allow_nan=False))
    allowed = (
        "status_message",
        "headline",
        "created_ns",
        "physical",
        "moved",
        "share",
        "growth_bytes_per_step",
    )
    unexplained = [
        path for path in keys_without_reason(summary) if path.rsplit(".", 1)[-1] not in allowed
    ]
    assert unexplained == []


def test_counts_count_all_steps_and_times_leave_out_tracing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=60, segments=2, tracing_ms=5_000.0)
    for segment in strategy_profiles.load(run).summary()["segments"]:
        assert segment["steps"]["count"] == 30
        assert segment["steps"]["warm_up"] == 1
        assert segment["steps"]["first_step_ms"] > 5_000
        assert segment["steps"]["wall_ms"]["mean"] < 40


def test_a_nan_loss_is_null_and_not_zero(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30, nan_loss_from=20)
    (segment,) = strategy_profiles.load(run).summary()["segments"]
    assert segment["loss"]["last"] == pytest.approx(2.3 * 0.995**19 + 0.1, abs=1e-4)


def test_a_collective_without_a_bus_factor_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=4, steps=40)
    for file in run.rglob("collectives.parquet"):
        table = pq.read_table(file)
        ops = pa.array(["gather"] * table.num_rows)
        pq.write_table(table.set_column(table.column_names.index("op"), "op", ops), file)
    (segment,) = strategy_profiles.load(run).summary()["segments"]
    (use,) = segment["collectives"]
    assert use["algbw_gbps"] > 0
    assert use["busbw_gbps"] is None
    assert "no factor for gather" in use["busbw_gbps_reason"]
    assert "no factor for gather" in segment["busbw_gbps_reason"]


def test_a_runs_bus_bandwidth_is_that_of_its_main_collective(tmp_path: Path) -> None:
    """Two runs are compared by it, also if they have a gather besides, or a loss's 8 bytes."""
    run = write_run(tmp_path / "run", replicas=4, steps=40, collective_bytes=(3_000_000, 8))
    for file in run.rglob("collectives.parquet"):
        table = pq.read_table(file)
        ops = ["reduce" if size == 8 else "all-reduce" for size in table["bytes"].to_pylist()]
        index = table.column_names.index("op")
        pq.write_table(table.set_column(index, "op", pa.array(ops)), file)
    profile = strategy_profiles.load(run)
    (segment,) = profile.summary()["segments"]
    (main,) = (use for use in segment["collectives"] if use["op"] == "all-reduce")
    assert segment["busbw_gbps"] == main["busbw_gbps"] > 0
    assert compare_runs(profile, profile).metric("busbw_gbps").a == main["busbw_gbps"]


def test_a_note_of_several_workers_is_there_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=20)
    for worker in range(2):
        log = EventLog(worker_folder(run, worker).events)
        log.write(Note("info", "The loss is the number that `step` returns"))
        log.close()
    messages = [note["message"] for note in strategy_profiles.load(run).summary()["notes"]]
    assert messages.count("The loss is the number that `step` returns") == 1


def test_the_text_of_a_run_without_an_environment_does_not_guess_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=20)
    profile = strategy_profiles.load(run)
    summary = profile.summary()
    texts: dict[bool, str] = {}
    for is_known in (True, False):
        out = io.StringIO()
        if not is_known:
            summary["environment"] |= {"tensorflow": None, "host": None}
        print_summary(profile, summary, Console(file=out, width=120))
        texts[is_known] = out.getvalue()
    assert "TensorFlow 2.21.0, 2 CPU cores\n" in texts[True]
    assert "TensorFlow" not in texts[False].partition("Segment 0")[0]
    assert "CPU core" not in texts[False].partition("Segment 0")[0]


@pytest.mark.parametrize(
    ("threads", "text"),
    [
        (None, "CPU cores\n"),
        (Threads(0, 0), "CPU cores\n"),
        (Threads(1, 4), "CPU cores, 1 inter-op thread, 4 intra-op threads\n"),
    ],
)
def test_threads_are_named_if_the_program_set_them(
    threads: Threads | None, text: str, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", threads=threads)
    profile = strategy_profiles.load(run)
    summary = summarize(profile)
    assert ("threads_reason" in summary["environment"]) == (threads is None)
    out = io.StringIO()
    print_summary(profile, summary, Console(file=out, width=200))
    assert text in out.getvalue()


def test_a_runs_summary_begins_with_the_segment_that_loses_most_time(tmp_path: Path) -> None:
    segments = ({}, {"straggler": (2, 30.0)}, {})
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=40, segments=segments))
    out = io.StringIO()
    print_summary(profile, summarize(profile), Console(file=out, width=120))
    titles = re.findall(r"^Segment (\d): mirrored, ", out.getvalue(), re.MULTILINE)
    assert titles == ["1", "0", "2"]
