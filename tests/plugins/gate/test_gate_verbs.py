"""baseline and gate: what they print, the files they write, their exit codes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from strategy_core.cli.main import main
from strategy_profiles.run.manifest import change_run_file, read_run_file
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`a-*`, `b-*` of one speed and `slow-*`, recorded in turns."""
    folder = tmp_path_factory.mktemp("runs")
    for number in range(5):
        for index, (side, step_ms) in enumerate({"a": 20.0, "b": 20.0, "slow": 24.0}.items()):
            begins_s = 60.0 * (3 * number + index)
            seed = 10 * number + index
            options: dict[str, Any] = {"step_ms": step_ms, "begins_s": begins_s, "seed": seed}
            write_run(folder / f"{side}-{number}", steps=60, **options)
    return folder


def side(runs: Path, name: str) -> list[str]:
    return sorted(str(path) for path in runs.glob(f"{name}-?"))


@pytest.fixture
def baseline(runs: Path, tmp_path: Path, capsys: Captured) -> str:
    file = str(tmp_path / "baseline.json")
    assert main(["baseline", *side(runs, "a"), "-o", file]) == 0
    assert "times of 5 runs" in capsys.readouterr().out
    return file


def test_equal_runs_pass(runs: Path, baseline: str, capsys: Captured) -> None:
    assert main(["gate", *side(runs, "b"), "--baseline", baseline]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Within the baseline" in text
    assert "5 runs a side, recorded alternately" in text


def test_slower_runs_fail_with_every_format(
    runs: Path, baseline: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    files = {name: tmp_path / name for name in ("markdown", "benchmark-json", "bencher-json")}
    files["markdown"].write_text("before\n")
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    assert main(["gate", *side(runs, "slow"), "--baseline", baseline, *options]) == 1
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert any(line.startswith("Beyond the baseline") for line in lines)
    assert any(line.startswith("::error title=Strategy Lab::step: ") for line in lines)
    assert files["markdown"].read_text().startswith("before\n### Strategy Lab: Beyond")
    assert json.loads(files["benchmark-json"].read_text())[0]["unit"] == "ms"
    benchmarks = json.loads(files["bencher-json"].read_text())
    assert next(name for name in benchmarks if name.endswith(": step"))


def test_a_larger_allowance_lets_a_growth_pass(runs: Path, baseline: str) -> None:
    slow = [*side(runs, "slow"), "--baseline", baseline]
    assert main(["gate", *slow, "--allow", "30%"]) == 0
    assert main(["gate", *slow, "--only", "exact"]) == 0


def test_one_run_is_enough_for_exact_checks_and_not_for_times(
    runs: Path, baseline: str, capsys: Captured
) -> None:
    one = [side(runs, "slow")[0], "--baseline", baseline, "--json"]
    assert main(["gate", *one]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["outcome"] == "undecided"
    assert answer["times"][0]["runs_needed"] is None
    assert {check["outcome"] for check in answer["exact"]} == {"within"}
    assert main(["gate", *one, "--only", "exact"]) == 0


def test_a_win_passes_and_its_command_accepts_it(
    runs: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = str(tmp_path / "with a space.json")
    assert main(["baseline", *side(runs, "slow"), "-o", file]) == 0
    capsys.readouterr()
    assert main(["gate", *side(runs, "b"), "--baseline", file]) == 0
    line = next(t for t in capsys.readouterr().out.splitlines() if "strategy-lab baseline" in t)
    _, *command = shlex.split(line)
    assert main(command) == 0
    assert json.loads(Path(file).read_text())["runs"][0]["run"] == "b-0"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--allow", "much"], "is not a share of the step"),
        (["--allow", "nan"], "is not a share of the step"),
        (["--baseline", "nowhere.json"], "does not exist. Write it with strategy-lab baseline"),
        (["--markdown", "/nowhere/x.md"], "cannot be written"),
    ],
)
def test_a_wrong_request_is_one_line(
    runs: Path, baseline: str, capsys: Captured, options: list[str], says: str
) -> None:
    assert main(["gate", *side(runs, "b"), "--baseline", baseline, *options]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_the_program_is_known_by_its_file_in_any_checkout(tmp_path: Path, capsys: Captured) -> None:
    for checkout in ("base", "head"):
        write_run(tmp_path / checkout, steps=60, prefix=f"/{checkout}/")
        identity = read_run_file(tmp_path / checkout)
        assert identity is not None
        assert identity.spec is not None
        spec = identity.spec | {"workload": f"/{checkout}/train.py"}
        change_run_file(tmp_path / checkout, {"spec": spec})
    file = str(tmp_path / "b.json")
    assert main(["baseline", str(tmp_path / "base"), "-o", file]) == 0
    assert main(["gate", str(tmp_path / "head"), "--baseline", file, "--only", "exact"]) == 0
    assert "train.py" in capsys.readouterr().out
