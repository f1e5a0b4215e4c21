"""An invalid request fails before anything starts: one line, exit code 2."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from strategy_core.cli._run_request import add_spec_arguments, build_spec
from strategy_core.cli.main import main
from strategy_profiles.spec.run_spec import RunSpec


def spec_of(*arguments: str) -> RunSpec:
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    return build_spec(parser.parse_args(arguments))


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text("steps: 10\nseed: 3\nglobal_batch_size: 16\ncapture: {window_steps: 4}\n")
    spec = spec_of(str(file), "--steps", "20", "--set", "capture.every_step=true")
    assert (spec.steps, spec.seed, spec.global_batch_size) == (20, 3, 16)
    assert (spec.capture.window_steps, spec.capture.every_step) == (4, True)


def test_keys_of_one_step_are_one_change() -> None:
    spec = spec_of(
        "--devices=cpu:4",
        "--reconfigure=20:global_batch_size=130",
        "--reconfigure=20:devices=cpu:2",
        "--reconfigure=10:inject=delay:replica=1,ms=30",
    )
    assert [planned.step for planned in spec.reconfigure] == [10, 20]
    assert spec.reconfigure[1].changes == {"global_batch_size": 130, "devices": "cpu:2"}
    assert spec.reconfigure[0].changes["inject"][0]["ms"] == 30


def test_values_are_yaml() -> None:
    spec = spec_of("--set=workload_options={units: 7}", "--set=workload_options.name=x")
    assert spec.workload_options == {"units": 7, "name": "x"}


WRONG = {
    "an unknown workload": (["--workload", "nope"], "There is no workload 'nope'. Name a .py file"),
    "a workload file that is not there": (
        ["--workload", "nope.py"],
        "does not exist. Correct its path, which starts at /",
    ),
    "an unknown strategy": (["--strategy", "mirrord"], "invalid choice"),
    "unknown devices": (["--devices", "cpu2"], "Write 'auto'"),
    "two kinds of devices": (["--devices", "cpu:0,gpu:0"], "of one kind"),
    "too many devices": (["--devices", "cpu:65"], "at most 64"),
    "a batch smaller than the replicas": (
        ["--devices", "cpu:4", "--global-batch-size", "2"],
        "cannot be shared equally",
    ),
    "a batch that does not divide": (
        ["--devices", "cpu:3", "--global-batch-size", "64"],
        "global_batch_size=64 cannot be shared equally among 3 replicas",
    ),
    "no steps": (["--steps", "0"], "steps"),
    "a delay of a replica that does not exist": (
        ["--devices", "cpu:2", "--inject", "delay:replica=2,ms=3"],
        "replica=2, but each worker has replicas 0 to 1",
    ),
    "not a delay": (["--inject", "slow:replica=2"], "Write delay:replica=R,ms=M"),
    "an unknown field": (["--set", "batch=3"], "no field 'batch'"),
    "a --set without value": (["--set", "steps"], "Write KEY=VALUE"),
    "a change after the end": (
        ["--steps", "10", "--reconfigure", "10:devices=cpu:2"],
        "planned at step 10 comes too late: the run has 10 steps",
    ),
    "a change of what must stay": (["--reconfigure", "10:seed=2"], "seed=2 cannot change while"),
    "a change that is wrong": (
        ["--devices", "cpu:2", "--reconfigure", "10:global_batch_size=3"],
        "cannot be shared equally",
    ),
    "data that is not there": (["--data", "/nope/data.npz"], "does not exist"),
    "a date for a number": (
        ["--set", "capture.window_steps=2020-13-45"],
        "capture.window_steps='2020-13-45' is not valid: it must be a whole number",
    ),
    "a YAML tag": (["--set", "steps=!!int x"], "cannot be read: invalid literal"),
    "a recursive alias": (["--set", "steps=&a [*a]"], "alias that contains itself"),
    "a step of 5,000 digits": (["--reconfigure", "9" * 5000 + ":steps=1"], "is more than"),
    "a value of 5,000 digits": (["--set", "steps=" + "9" * 5000], "cannot be read: Exceeds"),
    "5,000 digits in a flag": (["--steps", "9" * 5000], "is more than 9223372036854775807"),
    "nested brackets": (["--set", "workload_options=" + "[" * 90_000], "more than 32 levels"),
    "data of an unknown user": (["--data", "~nosuch/x.csv"], "home directory"),
    "data in a pipe": (["--data", "/dev/zero"], "is a device, not a file or a folder"),
    "a workload path that is too long": (["--workload", "x" * 300 + ".py"], "name too long"),
    "a field inside of a number": (["--set", "steps.more=1"], "'steps' holds no fields"),
    "a spec file that is not there": (["/nope/spec.yaml"], "does not exist"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_request_is_one_line_and_makes_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    arguments, said = WRONG[case]
    run = tmp_path / "run"
    assert main(["run", *arguments, "-o", str(run)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not run.exists()


@pytest.mark.parametrize(
    "text", [b"[1, 2]", b"{steps: [}", b"steps: many", b"nope: 1", b"\xee\xff"]
)
def test_an_invalid_spec_file_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: bytes
) -> None:
    file = tmp_path / "spec.yaml"
    file.write_bytes(text)
    assert main(["run", str(file), "-o", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_in_use_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["run", "--steps", "5", "-o", str(tmp_path)]) == 2
    assert "holds other files" in capsys.readouterr().err


REPEATED_WRONG = {
    "no number": (["--repeat", "often"], "'often' is not a number of runs"),
    "none at all": (["--repeat", "0"], "Give 1 to 1000, or auto"),
    "auto without another spec": (["--repeat", "auto"], "nothing to compare with"),
    "another spec without a number": (
        ["--interleave", "devices=cpu:4"],
        "--interleave needs --repeat",
    ),
    "two other files": (
        ["--repeat", "2", "--interleave", "x.yaml", "--interleave", "y.yaml"],
        "names 2 spec files",
    ),
    "a change that cannot be": (
        ["--repeat", "2", "--interleave", "devices=cpu:none"],
        "devices",
    ),
}


@pytest.mark.parametrize("case", REPEATED_WRONG)
def test_a_repetition_that_cannot_be_is_refused_before_anything_runs(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, said = REPEATED_WRONG[case]
    assert main(["run", "--devices", "cpu:2", *arguments, "-o", str(tmp_path / "x")]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
