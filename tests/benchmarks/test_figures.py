"""docs/figures.md is made from docs/figures.json, which has each figure's goal and command."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.figures import JSON, PAGE, Book, is_kept, render
from benchmarks.measuring.paired import Ratio
from benchmarks.measuring.record import FILE_VARIABLE, record_figure, record_ratio

BOOK: Book = json.loads(JSON.read_text())


def test_the_page_is_made_from_the_json() -> None:
    assert PAGE.read_text() == render(BOOK)


def test_each_figure_has_one_entry_a_section_a_run_and_a_goal_where_it_has_a_verdict() -> None:
    figures = BOOK["figures"]
    assert len({figure["id"] for figure in figures}) == len(figures)
    assert {figure["section"] for figure in figures} == {s["title"] for s in BOOK["sections"][1:]}
    assert {figure["run"] for figure in figures} <= {run["run"] for run in BOOK["runs"]}
    goals = ("at_most", "at_least", "goal")
    without = [
        f["id"] for f in figures if is_kept(f) is not None and not any(g in f for g in goals)
    ]
    assert without == []


def test_the_command_of_each_figure_exists() -> None:
    commands = {figure["command"].split()[0] for figure in BOOK["figures"] if "command" in figure}
    assert [name for name in commands if importlib.util.find_spec(name) is None] == []


@pytest.mark.parametrize(
    ("figure", "shown"),
    [
        ({"value": 1.5, "unit": "s", "at_most": 2}, "| 1.5 s | 2 s | kept |"),
        ({"value": 1.3, "low": 1.25, "high": 2, "unit": "x"}, "| 1.30x (1.25 to 2.00) | | |"),
        ({"low": 1, "high": 3, "unit": "s", "at_most": 2}, "| 1 to 3 s | 2 s | **missed** |"),
        ({"value": 20, "unit": "fps", "at_least": 30}, "| 20 fps | at least 30 fps | **missed** |"),
        ({"unit": "s", "at_most": 2}, "| not measured | 2 s | |"),
        ({"value": 3, "unit": "s", "run": "2026-12-01 00:40"}, "| 3 s, 30 N | | |"),
    ],
)
def test_a_row_says_what_was_measured_and_whether_its_goal_is_kept(
    figure: dict[str, Any], shown: str
) -> None:
    took = {"clock_s": 0.1, "processor_s": 0.2}
    yardsticks = dict.fromkeys(("pass", "import numpy", "import tensorflow"), took)
    page = render(
        {
            "runs": [{"run": "2026-12-01 00:40", "machine": "2 cores", "yardsticks": yardsticks}],
            "sections": [{"title": "Figures"}, {"title": "Times"}],
            "figures": [{"section": "Times", "what": "start", **figure}],
        }
    )
    assert f"| start {shown} by hand |" in page


def test_a_benchmark_records_the_median_and_the_spread_of_its_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "figures"
    monkeypatch.setenv(FILE_VARIABLE, str(file))
    record_figure("start", [3.0, 1.0, 2.0], "s")
    record_figure("memory", 41.234, "MB")
    record_ratio("step", Ratio(1.01234, 0.99, 1.03), 5)
    assert [json.loads(line) for line in file.read_text().splitlines()] == [
        {"id": "start", "unit": "s", "value": 2, "low": 1, "high": 3, "rounds": 3},
        {"id": "memory", "unit": "MB", "value": 41.2, "rounds": 1},
        {"id": "step", "unit": "x", "value": 1.012, "low": 0.99, "high": 1.03, "rounds": 5},
    ]
