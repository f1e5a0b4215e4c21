"""`strategy-lab sweep` against a pretended worker: the whole path, Ctrl-C and going on."""

from __future__ import annotations

import csv
import functools
import json
import os
import signal
import threading
from pathlib import Path

import pytest

from strategy_core.cli.main import main
from strategy_core.launcher.launcher import Launcher
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_sweep import verb as sweep
from strategy_sweep.record import names
from tests.strategy_core.launcher.test_launcher import PRETENDED
from tests.timeouts import wait_until

pytestmark = pytest.mark.run
CPU = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "")
ASKED = ("sweep", "--devices", "cpu:2", "--workload", "digits-mlp", "--seconds", "0.1")
AXES = ("--vary", "batch=64,128", "--rounds", "3")


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "Launcher", functools.partial(Launcher, worker_command=PRETENDED))
    monkeypatch.setattr(sweep, "probe", lambda: CPU)


def test_a_sweep_finds_a_winner_and_writes_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, table, report = tmp_path / "runs", tmp_path / "a.csv", tmp_path / "a.md"
    files = ("--csv", str(table), "--markdown", str(report))
    assert main([*ASKED, *AXES, "--runs", str(runs), "--json", *files]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["is_complete"]
    assert document["winner"]["spec"]["global_batch_size"] in (64, 128)
    assert [item["label"] for item in document["configurations"] if len(item["runs"]) == 3]
    assert "Round 3" in err
    assert len(list(csv.DictReader(table.open()))) == 3
    assert "Pareto front" in report.read_text()
    assert main(["sweep", "--show", next(names(runs)), "--runs", str(runs)]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "strategy-lab run --strategy mirrored" in output
    assert "parse_spec" in output


def test_ctrl_c_keeps_what_is_there_and_resume_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"

    def interrupt() -> None:
        wait_until(lambda: len(list(runs.glob("*-c*/worker-0-0/events.jsonl"))) > 1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert main([*ASKED, *AXES, "--runs", str(runs)]) == 130
    thread.join()
    assert f"--resume sweep-digits-mlp-1 --runs {runs}" in capsys.readouterr().err
    assert main(["sweep", "--resume", "sweep-digits-mlp-1", "--runs", str(runs), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_complete"]
    again = ["sweep", "--resume", "sweep-digits-mlp-1", "--runs", str(runs)]
    assert main([*again, "--vary", "batch=1,2", "--seconds", "9"]) == 2
    refused = capsys.readouterr().err
    assert "as it was planned, without --vary. Leave out --vary and --seconds" in refused


def test_a_dry_run_lists_what_would_be_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = ("--vary", "strategy=mirrored,one-device", "--vary", "devices=1,2")
    assert main([*ASKED, *axes, "--runs", str(tmp_path), "--dry-run"]) == 0
    err = capsys.readouterr().err
    assert "Left out one-device 2 devices" in err
    assert "3 configurations: mirrored 1 device, mirrored 2 devices" in err
    assert not list(tmp_path.iterdir())


def test_combinations_that_one_reason_leaves_out_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = ("--vary", "strategy=mirrored,one-device", "--vary", "devices=2,3,4")
    more = ("--vary", "batch=12,24")
    assert main([*ASKED, *axes, *more, "--runs", str(tmp_path), "--dry-run"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "Left out" in line]
    assert len(lines) == 3  # one for each number of devices
    assert lines[0].startswith("Left out one-device 2 devices batch 12 and 1 other: one-device")


def test_the_recipe_compares_both_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = [*ASKED, "--recipe", "fit-or-loop", "--runs", str(tmp_path), "--dry-run"]
    assert main(argv) == 0
    assert "2 configurations: loop custom, loop fit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--vary", "nonsense=1,2"), "nonsense"),
        (("--vary", "batch=64,128", "--rounds", "0"), "rounds"),
        (("--vary", "batch=64,128", "--minutes", "-1"), "minutes"),
        (("--resume", "sweep-9"), "has no sweep"),
    ],
)
def test_a_wrong_request_is_one_line(
    more: tuple[str, ...], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, *more, "--runs", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert why in err
    assert err.count("\n") == 1
