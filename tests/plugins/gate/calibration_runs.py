"""Real runs for `calibration`: blocks of A, A again, and A with 2, 5 and 10 % more work."""

from __future__ import annotations

import random
import time
from pathlib import Path

from strategy_core.launcher.launcher import Launcher
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.tables.store import Profile, load

WORK = {"a": 100, "again": 100, "b02": 102, "b05": 105, "b10": 110}
"""Matrix products in a step, by side."""
STEPS = 80
_TIMEOUT_S = 300.0
_WORKLOAD = Path(__file__).with_name("calibration_workload.py")
Block = dict[str, Profile]


def record(folder: Path, minutes: float, most: int = 10_000) -> None:
    """Record blocks, each in an order drawn by lot, until the time is over or `most` are there."""
    deadline = time.monotonic() + 60 * minutes
    recorded, number = 0, 0
    with Launcher() as launcher:
        while recorded < most and time.monotonic() < deadline:
            number += 1
            if not (folder / f"{number:04d}-done").exists():
                _record_block(folder, number, launcher)
                recorded += 1


def blocks(folder: Path) -> list[Block]:
    """Every block whose runs have all finished, in order."""
    numbers = sorted(path.name[:4] for path in folder.glob("[0-9]*-done"))
    read = (_block(folder, number) for number in numbers)
    return [block for block in read if block is not None]


def _record_block(folder: Path, number: int, launcher: Launcher) -> None:
    order = list(WORK)
    random.Random(number).shuffle(order)
    for side in order:
        run = folder / f"{number:04d}-{side}"
        if not run.exists():
            handle = launcher.launch(_spec(side), run)
            if not handle.wait(_TIMEOUT_S):
                handle.kill()
                handle.wait(_TIMEOUT_S)
    (folder / f"{number:04d}-done").touch()


def _spec(side: str) -> RunSpec:
    return RunSpec.model_validate(
        {
            "strategy": "mirrored",
            "devices": "cpu:2",
            "workload": str(_WORKLOAD),
            "workload_options": {"repeats": WORK[side]},
            "global_batch_size": 64,
            "steps": STEPS,
        }
    )


def _block(folder: Path, number: str) -> Block | None:
    try:
        block = {side: load(folder / f"{number}-{side}") for side in WORK}
    except LabError:
        return None
    return block if all(run.status.state == "finished" for run in block.values()) else None
