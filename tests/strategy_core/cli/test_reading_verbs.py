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
from strategy_profiles.run.layout import worker_folder
from tests.profiles.analysis.test_tpu_check import check_event
from tests.synthetic import HOSTILE, write_run

pytestmark = pytest.mark.slow

Captured = pytest.CaptureFixture[str]


def made_run(folder: Path, name: str, **options: Any) -> str:
    return str(write_run(folder / name, **{"steps": 120, **options}))


def document(capsys: Captured) -> Any:
    return json.loads(capsys.readouterr().out)


def test_summary_for_people_names_the_straggler(tmp_path: Path, capsys: Captured) -> None:
    assert main(["summary", made_run(tmp_path, "run", straggler=(2, 30.0))]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Replica 2 is late by (29|30)\.\d ms", text)
    assert "mirrored, 4 replicas, global batch 256" in text
    assert re.search(r"Step time [\d.]+ ms median of", text)
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
    assert main(["summary", made_run(tmp_path, "run", **options)]) == 0
    assert "Segment 0" in capsys.readouterr().out


def test_summary_for_people_says_what_a_tpu_would_refuse(tmp_path: Path, capsys: Captured) -> None:
    """It was in the JSON and on the page alone, and the run looked as if all was well."""
    run = made_run(tmp_path, "run", strategy="tpu", replicas=2)
    with worker_folder(Path(run), 0).events.open("a") as log:
        log.write(check_event(unchecked=["the rest of the step"]))
    assert main(["summary", run]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "On a real TPU • /home/me/model.py:12: On a TPU, Fill (2 ops) would not compile: a" in text
    )
    assert "Not checked: the rest of the step." in text


def test_summary_json_is_the_summary(tmp_path: Path, capsys: Captured) -> None:
    assert main(["summary", made_run(tmp_path, "run"), "--json"]) == 0
    assert document(capsys)["segments"][0]["steps"]["count"] == 120


def test_sql_answers_as_table_json_and_csv(tmp_path: Path, capsys: Captured) -> None:
    run = made_run(tmp_path, "run")
    query = "select strategy, num_replicas, null as nothing from segments"
    assert main(["sql", run, query]) == 0
    assert "mirrored" in capsys.readouterr().out
    assert main(["sql", run, query, "--json"]) == 0
    assert document(capsys) == {"strategy": "mirrored", "num_replicas": 4, "nothing": None}
    assert main(["sql", run, query, "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows == [["strategy", "num_replicas", "nothing"], ["mirrored", "4", ""]]


def test_sql_json_has_null_for_what_json_has_no_number(tmp_path: Path, capsys: Captured) -> None:
    run = made_run(tmp_path, "run")
    query = "select 'nan'::double as a, ['inf'::double, 1.5] as b, {'c': '-inf'::double} as c"
    assert main(["sql", run, query, "--json"]) == 0
    line = capsys.readouterr().out
    assert json.loads(line) == {"a": None, "b": [None, 1.5], "c": {"c": None}}
    assert "NaN" not in line
    assert "Infinity" not in line


def test_sql_shows_the_lines_of_a_plan(tmp_path: Path, capsys: Captured) -> None:
    assert main(["sql", made_run(tmp_path, "run"), "explain select 1"]) == 0
    output = capsys.readouterr().out
    assert "\N{REPLACEMENT CHARACTER}" not in output
    assert len(output.splitlines()) > 5


def one_line(capsys: Captured) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_runs_of_one_speed_are_within(tmp_path: Path, capsys: Captured) -> None:
    a, b = made_run(tmp_path, "a", seed=1), made_run(tmp_path, "b", seed=2)
    assert main(["compare", a, b, "--fail-on", "step_time_ms:+5%"]) == 0
    text = one_line(capsys)
    assert "within step_time_ms:+5%" in text
    said = r"The loop takes 0\.\d % (longer|less) per step in B than in A in these two runs"
    assert re.search(said, text)


def test_a_comparison_says_in_what_the_specs_differ(tmp_path: Path, capsys: Captured) -> None:
    a, b = made_run(tmp_path, "a", replicas=2), made_run(tmp_path, "b", replicas=4)
    assert main(["compare", a, b]) == 0
    assert "│ devices │ cpu:2 │ cpu:4 │" in re.sub(" +", " ", one_line(capsys))
    assert main(["compare", a, b, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spec_changes"] == ["devices cpu:2 → cpu:4"]
    assert main(["compare", a, a]) == 0
    assert "Differences between" not in one_line(capsys)


def test_one_run_a_side_never_says_which_is_faster(tmp_path: Path, capsys: Captured) -> None:
    a, b = made_run(tmp_path, "a"), made_run(tmp_path, "b", step_ms=40.0)
    assert main(["compare", a, b]) == 0
    text = one_line(capsys)
    assert "The loop takes 85 % longer per step in B than in A in these two runs: 44.1 ms" in text
    assert "is faster (" not in text
    assert "How much two runs of one spec differ on this machine is not known" in text
    assert "strategy-lab run A.yaml --interleave B.yaml --repeat auto. It records 6 runs" in text
    number = re.search(r"(\d+) if runs differ by 10 %, as is usual", text)
    assert number is not None
    assert int(number[1]) > 100


def test_other_runs_of_the_spec_tell_how_much_runs_differ(tmp_path: Path, capsys: Captured) -> None:
    speeds = (20.0, 20.6, 19.5, 20.2, 20.9)
    paths = [made_run(tmp_path, f"r{i}", seed=i, step_ms=ms) for i, ms in enumerate(speeds)]
    made_run(tmp_path, "cut", seed=9, step_ms=90.0, ending=None)
    made_run(tmp_path, "batch", seed=9, step_ms=90.0, global_batch_size=64)
    assert main(["compare", *paths[:2]]) == 0
    text = one_line(capsys)
    assert "3 other runs of these specs on this machine differ by 3." in text
    assert "this difference is within that" in text
    assert main(["compare", *paths[:2], "--json"]) == 0
    answer = document(capsys)
    assert answer["run_spread"]["num_runs"] == 3
    assert answer["step_time"]["low"] is None


def repeated(folder: Path, a_ms: float, b_ms: float, *, num: int = 4) -> list[str]:
    """A B B A ..., as arguments of compare."""
    sides: dict[str, list[str]] = {"a": [], "b": []}
    for number in range(2 * num):
        side = "abba"[number % 4]
        step_ms = {"a": a_ms, "b": b_ms}[side] * (1 + 0.004 * (number % 3))
        name = f"{side}-{len(sides[side])}"
        run = made_run(folder, name, seed=number, step_ms=step_ms, begins_s=60.0 * number)
        sides[side].append(run)
    return [*sides["a"], "--against", *sides["b"]]


def test_several_runs_a_side_say_which_is_faster(tmp_path: Path, capsys: Captured) -> None:
    runs = repeated(tmp_path, 20.0, 22.0)
    assert main(["compare", *runs, "--fail-on", "step_time_ms:+5%"]) == 1
    text = one_line(capsys)
    assert "A is faster. The loop takes 8." in text
    assert "4 pairs of consecutive runs" in text
    assert "beyond step_time_ms:+5%" in text
    assert re.search(
        r"step_time_ms │ [\d.]+ │ [\d.]+ │ \+8\.\d % \(\+[78]\.\d to \+[89]\.\d %\)", text
    )
    assert "Change (95 % interval)" in text
    assert main(["compare", *runs, "--json"]) == 0
    answer = document(capsys)
    assert (answer["verdict"], answer["unit"]) == ("A is faster", "run")
    assert answer["step_time"]["low"] > 1.05
    assert [len(answer[side]["runs"]) for side in "ab"] == [4, 4]
    assert answer["a"]["run"] == "a-0"


def test_equal_runs_in_turns_are_called_noise(tmp_path: Path, capsys: Captured) -> None:
    runs = repeated(tmp_path, 20.0, 20.0)
    limits = ["--fail-on", "step_time_ms:+0%", "--fail-on", "step_time_ms:-0%"]
    assert main(["compare", *runs, *limits]) == 0
    text = one_line(capsys)
    assert "Cannot tell which is faster" in text
    assert "it may be noise" in text


@pytest.mark.parametrize("runs", [["a"], ["a", "b", "c", "--fail-on", "loss:+5%"]])
def test_it_is_clear_which_runs_are_on_which_side(runs: list[str], capsys: Captured) -> None:
    assert main(["compare", *runs]) == 2
    assert "--against" in capsys.readouterr().err


def test_three_runs_are_each_compared_with_the_first(tmp_path: Path, capsys: Captured) -> None:
    runs = [made_run(tmp_path, "a"), made_run(tmp_path, "b", step_ms=24.0), made_run(tmp_path, "c")]
    assert main(["compare", *runs]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "b as B, a as A: the loop takes" in text
    assert "c as B, a as A: the loop takes" in text
    assert "faster" not in text
    assert main(["compare", *runs, "--json"]) == 0
    answer = document(capsys)
    assert [(item["a"]["run"], item["b"]["run"]) for item in answer] == [("a", "b"), ("a", "c")]
    assert main(["compare", *runs, made_run(tmp_path, "empty", steps=0, windows=0)]) == 2
    assert "empty cannot be compared" in capsys.readouterr().out


def test_a_run_named_twice_is_refused(tmp_path: Path, capsys: Captured) -> None:
    a, b = made_run(tmp_path, "a"), made_run(tmp_path, "b")
    assert main(["compare", a, b, "--against", b]) == 2
    assert "named twice" in capsys.readouterr().err


def test_a_slower_run_is_beyond_and_says_by_how_much(tmp_path: Path, capsys: Captured) -> None:
    a, b = made_run(tmp_path, "a"), made_run(tmp_path, "b", step_ms=24.0)
    limits = ["--fail-on", "step_time_ms:+5%", "--fail-on", "examples_per_second_at_median:-50%"]
    assert main(["compare", a, b, *limits, "--json"]) == 1
    answer = document(capsys)
    assert answer["verdict"] == "cannot tell"
    ratio = (24.0 + 3.5) / (20.0 + 3.5)  # 3.5 ms of each step are not its computation
    step_time = answer["step_time"]
    assert step_time["ratio"] == pytest.approx(ratio, rel=0.01)
    assert step_time["within_low"] < ratio < step_time["within_high"] * 1.01
    assert [check["beyond"] for check in answer["checks"]] == [True, False]


def test_a_faster_run_is_within_a_limit_on_slowness(tmp_path: Path) -> None:
    a, b = made_run(tmp_path, "a", step_ms=24.0), made_run(tmp_path, "b")
    assert main(["compare", a, b, "--fail-on", "step_time_ms:+5%"]) == 0
    assert main(["compare", a, b, "--fail-on", "step_time_ms:-5%"]) == 1


def test_throughput_at_the_median_has_a_name_of_its_own(tmp_path: Path, capsys: Captured) -> None:
    """`examples_per_second` is the throughput over all steps; limits may still use it as before."""
    a, b = made_run(tmp_path, "a"), made_run(tmp_path, "b", step_ms=24.0)
    limits = ["--fail-on", "examples_per_second:-1%"]
    assert main(["compare", a, b, *limits, "--json"]) == 1
    answer = document(capsys)
    (check,) = answer["checks"]
    (rate,) = (item for item in answer["metrics"] if item["metric"] == check["metric"])
    assert check["metric"] == "examples_per_second_at_median"
    assert rate["a"] == pytest.approx(256 / answer["step_time"]["a_ms"] * 1e3)
    assert "examples_per_second" not in {item["metric"] for item in answer["metrics"]}


@pytest.fixture(scope="module")
def twice_the_bytes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    return [made_run(folder, str(size), collective_bytes=(size,)) for size in (1000, 2000)]


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
def test_any_number_of_the_summary_can_be_limited(
    twice_the_bytes: list[str], limit: str, code: int
) -> None:
    assert main(["compare", *twice_the_bytes, "--fail-on", limit]) == code


@pytest.mark.parametrize(
    "options",
    [{"prefix": "other-"}, {"steps": 1, "cut": [("worker-0-0/events.jsonl", 1500)]}],
    ids=["another workload", "no step"],
)
def test_runs_that_cannot_be_compared_say_why(
    tmp_path: Path, capsys: Captured, options: dict[str, Any]
) -> None:
    a, b = made_run(tmp_path, "a"), made_run(tmp_path, "b", **options)
    assert main(["compare", a, b, "--json"]) == 2
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert answer["comparable"] is False
    assert answer["reason"] in err


def test_few_steps_leave_the_decision_to_the_plain_ratio(tmp_path: Path, capsys: Captured) -> None:
    a, b = made_run(tmp_path, "a", steps=6), made_run(tmp_path, "b", steps=6, step_ms=40.0)
    assert main(["compare", a, b, "--fail-on", "step_time_ms:+5%"]) == 1
    assert "beyond step_time_ms:+5%" in capsys.readouterr().out


@pytest.fixture(scope="module")
def noisy_runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder, noisy = tmp_path_factory.mktemp("runs"), {"noise": 0.9, "steps": 30, "drift": 0.8}
    return [made_run(folder, f"a{seed}", seed=seed, **noisy) for seed in range(8)]


@pytest.mark.parametrize("limit", ["step_time_ms:+1%", "examples_per_second_at_median:-1%"])
def test_noise_beyond_the_limit_is_remarked_and_not_failed(
    noisy_runs: list[str], capsys: Captured, limit: str
) -> None:
    remarked = 0
    for a, b in pairwise(noisy_runs):
        main(["compare", a, b, "--fail-on", limit, "--json"])
        (check,) = document(capsys)["checks"]
        if check["remark"]:
            remarked += 1
            assert not check["beyond"]
            assert abs(check["change"]) > 0.01
    assert remarked
