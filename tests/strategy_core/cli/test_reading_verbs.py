"""summary, sql and compare: for people and for programs, with their exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from strategy_core.cli.main import main
from tests.synthetic import HOSTILE, write_run

Captured = pytest.CaptureFixture[str]


def make(folder: Path, name: str, **options: Any) -> str:
    return str(write_run(folder / name, **{"steps": 120, **options}))


def document(capsys: Captured) -> Any:
    return json.loads(capsys.readouterr().out)


def test_summary_for_people_names_the_straggler(tmp_path: Path, capsys: Captured) -> None:
    assert main(["summary", make(tmp_path, "run", straggler=(2, 30.0))]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Replica 2 is late by (29|30)\.\d ms", text)
    assert "mirrored, 4 replicas, global batch 256" in text
    assert "all-reduce" in text


@pytest.mark.parametrize(
    "options",
    [
        {"ending": None, "windows": 0, "marks": False},
        {"ending": "failed", "prefix": HOSTILE + "[red]"},
        {"missing": ("environment", "run.json")},
        {"segments": 3},
    ],
    ids=str,
)
def test_summary_for_people_takes_every_kind_of_run(
    tmp_path: Path, capsys: Captured, options: dict[str, Any]
) -> None:
    assert main(["summary", make(tmp_path, "run", **options)]) == 0
    assert "Segment 0" in capsys.readouterr().out


def test_summary_json_is_the_summary(tmp_path: Path, capsys: Captured) -> None:
    assert main(["summary", make(tmp_path, "run"), "--json"]) == 0
    assert document(capsys)["segments"][0]["steps"]["count"] == 120


def test_sql_answers_as_table_json_and_csv(tmp_path: Path, capsys: Captured) -> None:
    run = make(tmp_path, "run")
    query = "select strategy, num_replicas, null as nothing from segments"
    assert main(["sql", run, query]) == 0
    assert "mirrored" in capsys.readouterr().out
    assert main(["sql", run, query, "--json"]) == 0
    assert document(capsys) == {"strategy": "mirrored", "num_replicas": 4, "nothing": None}
    assert main(["sql", run, query, "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows == [["strategy", "num_replicas", "nothing"], ["mirrored", "4", ""]]


def test_runs_of_one_speed_are_within(tmp_path: Path, capsys: Captured) -> None:
    a, b = make(tmp_path, "a", seed=1), make(tmp_path, "b", seed=2)
    assert main(["compare", a, b, "--fail-on", "step_time_ms:+5%"]) == 0
    text = capsys.readouterr().out
    assert "within step_time_ms:+5%" in text
    assert "B / A = " in text


def test_a_slower_run_is_beyond_and_says_by_how_much(tmp_path: Path, capsys: Captured) -> None:
    a, b = make(tmp_path, "a"), make(tmp_path, "b", step_ms=24.0)
    limits = ["--fail-on", "step_time_ms:+5%", "--fail-on", "examples_per_second:-50%"]
    assert main(["compare", a, b, *limits, "--json"]) == 1
    found = document(capsys)
    assert found["verdict"] == "A is faster"
    assert found["step_time"]["low"] < 27.5 / 23.5 < found["step_time"]["high"] * 1.01
    assert [check["beyond"] for check in found["checks"]] == [True, False]


def test_a_faster_run_is_within_a_limit_on_slowness(tmp_path: Path) -> None:
    a, b = make(tmp_path, "a", step_ms=24.0), make(tmp_path, "b")
    assert main(["compare", a, b, "--fail-on", "step_time_ms:+5%"]) == 0
    assert main(["compare", a, b, "--fail-on", "step_time_ms:-5%"]) == 1


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("bytes_per_step.collective:+1%", 1),
        ("bytes_per_step.collective:+200%", 0),
        ("bytes_per_step.collective:+100", 1),
        ("replicas.0.compute_ms:+5%", 0),
        ("steps.wall_ms.p90:+50%", 0),
        ("loss:+0.5", 0),
        ("late_ms:+5", 0),
        ("nothing:+5%", 2),
        ("replicas.99.compute_ms:+5%", 2),
    ],
)
def test_any_number_of_the_summary_can_be_limited(tmp_path: Path, limit: str, code: int) -> None:
    a = make(tmp_path, "a", collective_bytes=(1000,))
    b = make(tmp_path, "b", collective_bytes=(2000,))
    assert main(["compare", a, b, "--fail-on", limit]) == code


@pytest.mark.parametrize(
    "options",
    [{"prefix": "other-"}, {"steps": 1, "cut": [("worker-0-0/events.jsonl", 1500)]}],
    ids=["another workload", "no step"],
)
def test_runs_that_cannot_be_compared_say_why(
    tmp_path: Path, capsys: Captured, options: dict[str, Any]
) -> None:
    a, b = make(tmp_path, "a"), make(tmp_path, "b", **options)
    assert main(["compare", a, b, "--json"]) == 2
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["comparable"] is False
    assert found["reason"] in err


def test_few_steps_leave_the_decision_to_the_plain_ratio(tmp_path: Path, capsys: Captured) -> None:
    a, b = make(tmp_path, "a", steps=6), make(tmp_path, "b", steps=6, step_ms=40.0)
    assert main(["compare", a, b, "--fail-on", "step_time_ms:+5%"]) == 1
    assert "Cannot tell which is faster" in capsys.readouterr().out


@pytest.mark.parametrize("limit", ["step_time_ms:+1%", "examples_per_second:-1%"])
def test_noise_beyond_the_limit_is_remarked_and_not_failed(
    tmp_path: Path, capsys: Captured, limit: str
) -> None:
    noisy = {"noise": 0.9, "steps": 30, "drift": 0.8}
    runs = [make(tmp_path, f"a{seed}", seed=seed, **noisy) for seed in range(8)]
    remarked = 0
    for a, b in pairwise(runs):
        main(["compare", a, b, "--fail-on", limit, "--json"])
        (check,) = document(capsys)["checks"]
        if check["remark"]:
            remarked += 1
            assert not check["beyond"]
            assert abs(check["change"]) > 0.01
    assert remarked
