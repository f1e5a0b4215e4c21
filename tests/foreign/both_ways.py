"""A program run without the lab and under `strategy-lab trace`, with what came of both."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import strategy_profiles
from strategy_core.tracing.settings import STRICT_VARIABLE
from strategy_profiles.run.manifest import create_run_file
from tests.event_records import read_records

PROGRAMS = Path(__file__).parent / "programs"
REPOSITORY = Path(__file__).parents[2]
WEIGHTS = "weights.npy"
"""Where a program of the folder saves its weights: its first argument."""
_FAILED = "strategy-lab: The run failed"
_ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclass(frozen=True)
class Ran:
    """One run of a program."""

    code: int
    folder: Path
    run: Path | None

    @property
    def output(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def errors(self) -> str:
        """Its standard error, without TensorFlow's log, addresses of objects and `explanation`."""
        return self._own_and_labs_errors[0]

    @cached_property
    def _own_and_labs_errors(self) -> tuple[str, str]:
        """What the program wrote to its standard error, then what the lab wrote there."""
        lines = (self.folder / "stderr").read_text().splitlines()
        own = [line for line in lines if not line.startswith(("W0000", "I0000", "E0000"))]
        before, failed, after = _ADDRESS.sub("0x", "\n".join(own)).partition(_FAILED)
        return before.rstrip("\n"), failed + after

    @property
    def explanation(self) -> str:
        """What the lab has printed of the error that ended it; empty without one."""
        return self._own_and_labs_errors[1]

    @property
    def weights(self) -> bytes:
        return (self.folder / WEIGHTS).read_bytes()

    @cached_property
    def profile(self) -> strategy_profiles.Profile:
        assert self.run is not None
        return strategy_profiles.load(self.run)

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        assert self.run is not None
        return read_records(self.run / "worker-0-0" / "events.jsonl")

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]

    @property
    def notes(self) -> str:
        return "\n".join(event["message"] for event in self.of_kind("note"))


class Runner:
    """Runs programs in children of one process."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self._folder, self._process = folder, process
        self._done: dict[str, tuple[Ran, Ran]] = {}
        self._num_runs = 0
        self.crashes: list[Ran] = []
        """Runs that a signal ended, of either side."""

    def both(self, name: str) -> tuple[Ran, Ran]:
        """The program without the lab and under it; run once, and again if a signal ended it.

        TensorFlow 2.21 can crash a process when its profiler stops. What a test hides so is in
        `crashes`, and each is a warning.
        """
        if name not in self._done or any(ran.code < 0 for ran in self._done[name]):
            self._done[name] = self.run(name, is_traced=False), self.run(name, is_traced=True)
        return self._done[name]

    def traced_as_alone(self, name: str, *arguments: str) -> Ran:
        """The traced program; it succeeds, with the errors and the weights that it has alone."""
        plain, traced = (
            self.run(name, is_traced=is_traced, arguments=(WEIGHTS, *arguments))
            for is_traced in (False, True)
        )
        assert (traced.code, traced.errors) == (plain.code, plain.errors)
        assert traced.code == 0
        assert traced.weights == plain.weights
        return traced

    def run(self, name: str, *, is_traced: bool, arguments: Sequence[str] = (WEIGHTS,)) -> Ran:
        self._num_runs += 1
        side = "traced" if is_traced else "plain"
        folder = self._folder / f"{self._num_runs:02d}-{name}-{side}"
        folder.mkdir()
        run = folder / "run" if is_traced else None
        if run is not None:
            create_run_file(run, recorded_by="record")
        request = {
            "command": [*_program(name), *arguments],
            "programs": str(PROGRAMS),
            "folder": str(folder),
            "stdout": str(folder / "stdout"),
            "stderr": str(folder / "stderr"),
            "environment": {STRICT_VARIABLE: "1"},
            "run": str(run) if run else None,
            "capture": {"every_step": True},
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        ran = Ran(int(self._process.stdout.readline()), folder, run)
        if ran.code < 0:
            self.crashes.append(ran)
            warnings.warn(
                f"{name}, {side}, ended by signal {-ran.code}: {ran.errors}", stacklevel=2
            )
        return ran


def _program(name: str) -> list[str]:
    """What follows `python`: a file, or `-m` and a module of a package."""
    return ["-m", name] if "." in name else [str(PROGRAMS / f"{name}.py")]


@contextmanager
def runner(folder: Path) -> Iterator[Runner]:
    command = [sys.executable, "-m", "tests.foreign.preloaded"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY, text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    ) as process:  # fmt: skip
        yield Runner(folder, process)
        assert process.stdin is not None
        process.stdin.close()
