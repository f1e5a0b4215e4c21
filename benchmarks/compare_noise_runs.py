"""Real runs for `compare_noise`: blocks of A, A again, and B, which has 5 % more to do."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from strategy_core.launcher.launcher import Launcher
from strategy_lab.profiles import load
from strategy_lab.profiles.analysis.compare.comparison import TimedRun
from strategy_lab.profiles.analysis.compare.repetitions import DIFFERENCE
from strategy_lab.profiles.analysis.compare.run_comparison import timed_run
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.spec.run_spec import RunSpec

SIDES = ("a", "again", "b")
_LEAST_MS = 0.05
"""A has a delay, too, so that the op which delays is in both."""
_TIMEOUT_S = 300.0
Block = dict[str, TimedRun]


def recorded_blocks(folder: Path, minutes: float) -> list[Block]:
    """Record blocks for so long, then read all that are whole, in order."""
    deadline = time.monotonic() + 60 * minutes
    if minutes > 0:
        with Launcher() as launcher:
            more_ms = _more_ms(folder, launcher)
            number = 0
            while time.monotonic() < deadline:
                number += 1
                _record_block(folder, number, more_ms, launcher)
    return _whole_blocks(folder)


def _more_ms(folder: Path, launcher: Launcher) -> float:
    """5 % of a step of A, from three runs at the beginning; kept in the folder."""
    file = folder / "delay.json"
    if file.exists():
        return float(json.loads(file.read_text())["more_ms"])
    medians = []
    for number in range(3):
        run = folder / f"calibrate-{number}"
        _record(run, _spec(0.0), launcher)
        medians.append(timed_run(load(run), "A").time.median_ms)
    more_ms = DIFFERENCE * sorted(medians)[1]
    file.write_text(json.dumps({"more_ms": more_ms, "medians_ms": medians}) + "\n")
    return more_ms


def _record_block(folder: Path, number: int, more_ms: float, launcher: Launcher) -> None:
    order = list(SIDES)
    random.Random(number).shuffle(order)
    for side in order:
        _record(folder / f"{number:04d}-{side}", _spec(more_ms if side == "b" else 0.0), launcher)


def _record(run: Path, spec: RunSpec, launcher: Launcher) -> None:
    if not run.exists():
        handle = launcher.launch(spec, run)
        if not handle.wait(_TIMEOUT_S):
            handle.kill()
            handle.wait(_TIMEOUT_S)


def _spec(more_ms: float) -> RunSpec:
    return RunSpec.model_validate(
        {
            "strategy": "one-device",
            "devices": "cpu:1",
            "workload": "digits-cnn",
            "global_batch_size": 128,
            "steps": 60,
            "inject": [{"replica": 0, "ms": _LEAST_MS + more_ms}],
        }
    )


def _whole_blocks(folder: Path) -> list[Block]:
    numbers = sorted({path.name[:4] for path in folder.glob("[0-9]*-*")})
    blocks = (_block(folder, number) for number in numbers)
    return [block for block in blocks if block is not None]


def _block(folder: Path, number: str) -> Block | None:
    block: Block = {}
    for side in SIDES:
        try:
            run = load(folder / f"{number}-{side}")
            if run.status.state != "finished":
                return None
            block[side] = timed_run(run, side)
        except LabError:
            return None
    return block
