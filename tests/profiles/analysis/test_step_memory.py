"""What each device holds over a step: variables always, tensors while they are read."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

import strategy_profiles
from strategy_core.cli._summary_text import print_summary
from strategy_profiles.analysis.step_memory import peak_sentence, step_memory
from strategy_profiles.analysis.summary import summarize
from tests.synthetic import write_run


def test_the_peak_is_the_variables_and_the_two_largest_neighbours(tmp_path: Path) -> None:
    run = strategy_profiles.load(write_run(tmp_path / "run", replicas=2, ops_per_step=5))
    memory = step_memory(run, 0)
    assert memory.reason is None
    assert memory.source == "derived"
    assert [item.device[-5:] for item in memory.devices] == ["CPU:0", "CPU:1"]
    first = memory.devices[0]
    assert first.variable_bytes is not None
    # Op i returns i + 1 kB, and is held until the next op ends.
    assert first.peak_bytes == first.variable_bytes + 4000 + 5000
    tensors = [each for each in first.holders if each.kind == "tensor"]
    assert [each.bytes for each in tensors] == [5000, 4000]
    assert sum(each.bytes for each in first.holders) == first.peak_bytes
    assert max(first.bytes) == first.peak_bytes
    assert first.bytes[-1] == first.variable_bytes
    assert "the variable dense/kernel" in peak_sentence(first, "CPU:0")


def test_a_run_without_sizes_says_so(tmp_path: Path) -> None:
    run = strategy_profiles.load(write_run(tmp_path / "run", missing=("tensors",)))
    assert (
        step_memory(run, 0).reason
        == "no captured step of this segment has the sizes of its tensors"
    )
    (segment,) = summarize(run)["segments"]
    assert segment["step_memory"]["devices"] is None
    assert segment["step_memory"]["devices_reason"]


def test_the_summary_prints_the_peak_and_the_stages_of_the_input(tmp_path: Path) -> None:
    run = strategy_profiles.load(write_run(tmp_path / "run", replicas=2, ops_per_step=5))
    out = io.StringIO()
    print_summary(run, summarize(run), Console(file=out, width=160))
    assert "Memory over a step" in out.getvalue()
    assert "dense/kernel" in out.getvalue()
    assert "Input pipeline" in out.getvalue()


def test_sql_has_the_tensors(tmp_path: Path) -> None:
    run = strategy_profiles.load(write_run(tmp_path / "run", replicas=2, ops_per_step=5))
    rows = run.sql("select max(bytes) as most from tensors where device like '%CPU:1'").to_pylist()
    assert rows == [{"most": 5000}]
