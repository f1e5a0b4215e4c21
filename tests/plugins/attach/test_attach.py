"""`strategy-lab attach` records steps of a program that waits, and says in a sentence why not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_attach import attaching
from strategy_attach.attaching import Attachment, waiting_programs
from strategy_core.cli.main import main
from strategy_core.processes.import_path import with_own_code
from strategy_profiles.run.command_mailbox import read_commands
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Failed, WorkerStarted
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import WAITS, create_run_file
from tests.timeouts import MAX_WAIT_S, wait_until

PROGRAM = Path(__file__).with_name("program_that_waits.py")
WAYS = ("fit", "fit", "loop", "eager", "loop")
STEPS = 100


class Program:
    """The program under `trace --idle`."""

    def __init__(self, runs: Path, pause_s: float, command: list[str]) -> None:
        self.runs = runs
        self.folder = runs / "waits"
        self.process = subprocess.Popen(
            [sys.executable, "-P", *command, str(PROGRAM), str(pause_s)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=runs,
            # a crash of the program leaves its stack in the output of the test
            env=with_own_code(os.environ)
            | {"STRATEGY_LAB_TRACE_STRICT": "1", "PYTHONFAULTHANDLER": "1"},
        )  # fmt: skip

    def begin(self, way: str) -> None:
        assert self.process.stdin is not None
        print(way, file=self.process.stdin, flush=True)

    def printed(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def attach(self, *options: str) -> int:
        return main(["attach", str(self.folder), *options])

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(MAX_WAIT_S)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    runs = tmp_path_factory.mktemp("runs")
    trace = ["-m", "strategy_core", "trace", "--idle", "-o", str(runs / "waits")]
    running = Program(runs, 0.01, trace)
    try:
        wait_until(lambda: bool(waiting_programs(runs)) or running.process.poll() is not None)
        assert running.process.poll() is None
        yield running
    finally:
        running.process.kill()
        running.process.wait()


@pytest.fixture(scope="module")
def weights(program: Program) -> list[str]:
    """What the program printed after each way to train, 10 steps of which were recorded."""
    printed = []
    for number, way in enumerate(WAYS):
        program.begin(way)
        assert program.attach("--steps", "10", "-o", str(program.runs / f"{number}")) == 0
        printed.append(program.printed())
    return printed


@pytest.mark.run
@pytest.mark.tf
@pytest.mark.usefixtures("weights")
class TestRecordedSteps:
    @pytest.mark.parametrize("number", range(len(WAYS)))
    def test_the_steps_that_were_asked_for_are_recorded_with_their_replicas(
        self, program: Program, number: int
    ) -> None:
        summary = strategy_profiles.load(program.runs / str(number)).summary()
        assert summary["status"] == "finished"
        (segment,) = summary["segments"]
        assert (segment["strategy"], segment["num_replicas"]) == ("mirrored", 2)
        assert segment["steps"]["count"] == 10
        assert segment["global_batch_size"] == 16
        is_eager = WAYS[number] == "eager"  # without functions there is no graph
        assert all(row["compute_ms"] or is_eager for row in segment["replicas"])
        assert is_eager or segment["collectives"]

    @pytest.mark.parametrize("number", [1, 4])
    def test_every_step_of_a_function_that_ran_before_is_captured(
        self, program: Program, number: int
    ) -> None:
        steps = strategy_profiles.load(program.runs / str(number)).table("steps")
        assert steps.column("captured").to_pylist() == [True] * 10

    def test_the_weights_are_those_of_the_program_alone(
        self, program: Program, weights: list[str]
    ) -> None:
        alone = Program(program.runs, 0.0, [])
        for way in WAYS:
            alone.begin(way)
        assert [alone.printed() for _ in WAYS] == weights
        assert alone.end() == 0

    def test_the_programs_that_wait_are_listed(
        self, program: Program, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["attach", "--runs", str(program.runs)]) == 0
        assert f"{program.folder}  process" in capsys.readouterr().out

    def test_a_program_that_does_no_step_is_given_up(
        self, program: Program, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run = program.runs / "no-step"
        assert program.attach("--within", "0.5", "-o", str(run)) == 2
        said = capsys.readouterr().err
        assert "did no training step meanwhile; it did " in said
        assert not run.exists()

    def test_a_second_recording_is_refused_while_one_goes_on(
        self, program: Program, capsys: pytest.CaptureFixture[str]
    ) -> None:
        wish: dict[str, Any] = {"steps": None, "seconds": 60.0, "capture": {}}
        first = Attachment(program.folder, program.runs / "one", wish)
        assert program.attach("-o", str(program.runs / "other")) == 2
        assert "is being recorded into" in capsys.readouterr().err
        program.begin("loop")
        program.printed()
        first.stop()
        assert 0 < first.wait(MAX_WAIT_S) <= STEPS

    def test_a_taken_folder_is_refused(
        self, program: Program, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert program.attach("-o", str(program.runs / "0")) == 2
        assert "holds another run" in capsys.readouterr().err

    def test_a_program_that_is_stopped_does_not_answer(
        self,
        program: Program,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(attaching, "HEARD_WITHIN_S", 0.5)
        (waiting,) = waiting_programs(program.runs)
        os.kill(waiting.pid, signal.SIGSTOP)
        try:
            assert program.attach("-o", str(program.runs / "stopped")) == 2
        finally:
            os.kill(waiting.pid, signal.SIGCONT)
        assert "has not answered within" in capsys.readouterr().err

    def test_a_program_that_ends_meanwhile_closes_the_record(self, program: Program) -> None:
        wish: dict[str, Any] = {"steps": STEPS + 1, "seconds": None, "capture": {}}
        last = Attachment(program.folder, program.runs / "last", wish)
        program.begin("loop")
        program.printed()
        assert program.end() == 0
        assert last.wait(MAX_WAIT_S) == STEPS
        assert strategy_profiles.load(program.runs / "last").status.state == "finished"
        assert strategy_profiles.load(program.folder).status.state == "finished"


def folder(runs: Path, recorded_by: str) -> Path:
    run = runs / "run"
    create_run_file(run, recorded_by=recorded_by)
    return run


def refusal(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["attach", str(run)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_attaching_to_a_folder_without_a_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "There is no run in" in refusal(tmp_path / "none", capsys)


def test_attaching_to_a_recorded_program_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "not of a program that waits" in refusal(folder(tmp_path, "record"), capsys)


def test_attaching_before_the_import_of_tensorflow_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "has not imported TensorFlow yet" in refusal(folder(tmp_path, WAITS), capsys)


def test_attaching_to_an_ended_program_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = folder(tmp_path, WAITS)
    log = EventLog(worker_folder(run, 0).events)
    log.write(WorkerStarted(0, os.getpid(), time.time_ns(), time.monotonic_ns()))
    log.write(Failed("ValueError: in step 7"))
    assert "has ended (failed: ValueError: in step 7" in refusal(run, capsys)
    assert main(["attach", "--runs", str(tmp_path)]) == 2
    assert "No program waits in" in capsys.readouterr().err


def test_a_taken_folder_is_refused_before_the_program_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = folder(tmp_path, WAITS)
    log = EventLog(worker_folder(run, 0).events)
    log.write(WorkerStarted(0, os.getpid(), time.time_ns(), time.monotonic_ns()))
    create_run_file(tmp_path / "taken")
    assert main(["attach", str(run), "-o", str(tmp_path / "taken")]) == 2
    said = capsys.readouterr().err
    assert "taken holds another run already" in said
    assert "recording into" not in said
    assert not read_commands(run, 0)


def test_attaching_to_a_program_of_another_user_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = folder(tmp_path, WAITS)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "belongs to " in refusal(run, capsys)


@pytest.mark.parametrize(
    "options", [["--steps", "0"], ["--seconds", "-1"], ["--steps", "1", "--seconds", "1"]]
)
def test_attaching_with_wrong_options_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert main(["attach", str(tmp_path), *options]) == 2
    assert "Give " in capsys.readouterr().err
