"""`strategy-lab run --repeat` against a pretended worker: folders, order, stopping, going on."""

from __future__ import annotations

import functools
import json
import os
import signal
import threading
from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.cli import _repeat, run
from strategy_core.cli.main import main
from strategy_core.launcher.launcher import Launcher
from strategy_core.launcher.repetition import new_plan
from strategy_profiles.spec.run_spec import RunSpec
from tests.strategy_core.launcher.test_launcher import PRETENDED
from tests.timeouts import wait_until

pytestmark = pytest.mark.run
ASKED = ("run", "--devices", "cpu:2", "--workload", "digits-mlp", "--repeat")
OTHER = ("--interleave", "devices=cpu:4")


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = functools.partial(Launcher, worker_command=PRETENDED)
    monkeypatch.setattr(_repeat, "Launcher", launcher)


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir())


def test_both_sides_are_recorded_in_turns_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [*ASKED, "3", "--steps", "20", *OTHER, "-o", str(tmp_path / "x")]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert folders(tmp_path) == [f"x-{side}-{n}" for side in "ab" for n in (1, 2, 3)]
    assert strategy_profiles.load(tmp_path / "x-b-1").spec["devices"] == "cpu:4"
    assert "3 pairs of consecutive runs" in " ".join(out.split())
    assert "A, run 1 of 3" in err
    plan = json.loads((tmp_path / "x.repeat.json").read_text())
    assert plan["b"]["devices"] == "cpu:4"
    assert main([*argv, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["unit"]) == ("comparison", "run")


def test_ctrl_c_keeps_what_is_there_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [*ASKED, "2", "--steps", "2000", "-o", str(tmp_path / "x")]

    def interrupt() -> None:
        events = tmp_path / "x-a-1" / "worker-0-0" / "events.jsonl"
        wait_until(lambda: events.exists() and events.read_text().count('"step"') > 5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert main(argv) == 130
    thread.join()
    assert "Repeat the command to continue" in capsys.readouterr().err
    assert folders(tmp_path) == ["x-a-1"]
    (tmp_path / "x.repeat.json").write_text(
        (tmp_path / "x.repeat.json").read_text().replace('"steps": 2000', '"steps": 20')
    )
    again = [*ASKED, "2", "--steps", "20", "-o", str(tmp_path / "x")]
    assert main(again) == 0
    assert folders(tmp_path) == ["stopped-1-x-a-1", "x-a-1", "x-a-2"]
    assert len(list(tmp_path.glob("x-a-*"))) == 2, "runs of the side, as a shell finds them"


def test_a_name_that_another_command_takes_meanwhile_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = RunSpec(devices="cpu:2", workload="digits-mlp", steps=20)
    new_plan(tmp_path / "x", [spec]).save()
    names = iter(["x", "y"])  # a command looks for a free name before it takes it
    monkeypatch.setattr(run, "RUNS", tmp_path)
    monkeypatch.setattr(run, "new_name", lambda *_: next(names))
    assert main([*ASKED, "1", "--steps", "20"]) == 0
    assert folders(tmp_path) == ["y-a-1"]


def test_failed_runs_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failing = ("--set", "workload_options.accident=refuse")
    assert main([*ASKED, "2", "--steps", "9", *failing, "-o", str(tmp_path / "x")]) == 1
    assert "Not finished: x-a-1 (failed), x-a-2 (failed)" in capsys.readouterr().err
