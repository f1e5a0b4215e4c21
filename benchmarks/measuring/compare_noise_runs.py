"""Real runs for `compare_noise`: blocks of A, A again, and B, which has 5 % more to do.

On a machine that others use, runs differ by more than any number of repetitions can overcome. So
there are also blocks with a controlled noise: segments of one run, whose steps are nearly all
delay. A sleep does not depend on the load, and each segment draws its length again.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path

from strategy_core.launcher.launcher import Launcher
from strategy_profiles import load
from strategy_profiles.analysis.compare.comparison import TimedRun
from strategy_profiles.analysis.compare.repetitions import DIFFERENCE
from strategy_profiles.analysis.compare.run_comparison import timed_run
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.tables.store import Profile

SIDES = ("a", "again", "b")
_LEAST_MS = 0.05
"""A has a delay, too, so that the op which delays is in both."""
_TIMEOUT_S = 3600.0
_DELAY_MS = 150.0
_SEGMENT_STEPS = 24
"""More than a median of steady steps needs, warm-up and captured ones aside."""
Block = dict[str, TimedRun]


def recorded_blocks(folder: Path, minutes: float, steps: int) -> list[Block]:
    """Record runs of so many steps for so long, then read all blocks that are whole, in order."""
    deadline = time.monotonic() + 60 * minutes
    if minutes > 0:
        with Launcher() as launcher:
            more_ms = _more_ms(folder, steps, launcher)
            number = 0
            while time.monotonic() < deadline:
                number += 1
                _record_block(folder, number, more_ms, steps, launcher)
    return _whole_blocks(folder)


def _more_ms(folder: Path, steps: int, launcher: Launcher) -> float:
    """5 % of a step of A, from three runs at the beginning; kept in the folder."""
    file = folder / "delay.json"
    if file.exists():
        return float(json.loads(file.read_text())["more_ms"])
    medians = []
    for number in range(3):
        run = folder / f"calibrate-{number}"
        _record(run, _spec(_LEAST_MS, steps=steps), launcher)
        medians.append(timed_run(load(run), "A").time.median_ms)
    more_ms = DIFFERENCE * sorted(medians)[1]
    file.write_text(json.dumps({"more_ms": more_ms, "medians_ms": medians}) + "\n")
    return more_ms


def _record_block(
    folder: Path, number: int, more_ms: float, steps: int, launcher: Launcher
) -> None:
    order = list(SIDES)
    random.Random(number).shuffle(order)
    for side in order:
        _record(
            folder / f"{number:04d}-{side}",
            _spec(_LEAST_MS + (more_ms if side == "b" else 0.0), steps=steps),
            launcher,
        )


def _record(run: Path, spec: RunSpec, launcher: Launcher) -> None:
    if not run.exists():
        handle = launcher.launch(spec, run)
        if not handle.wait(_TIMEOUT_S):
            handle.kill()
            handle.wait(_TIMEOUT_S)


def controlled_blocks(folder: Path, num_blocks: int, spread: float, seed: int = 0) -> list[Block]:
    """Record blocks whose sides differ by `spread` (relative standard deviation) from one another.

    A block is three segments of one run. Its delays are planned before; recorded, read and
    compared as any others.
    """
    run = folder / f"controlled-{num_blocks}-{spread:g}-{seed}"
    rng = random.Random(seed)
    sides = [side for _ in range(num_blocks) for side in rng.sample(SIDES, len(SIDES))]
    with Launcher() as launcher:
        first = folder / "controlled-calibrate"
        _record(first, _delayed([_DELAY_MS]), launcher)
        step_ms = timed_run(load(first), "A").time.median_ms
        own_ms = step_ms - _DELAY_MS  # not delay: the part that the machine's load changes
        _record(run, _delayed([_drawn_ms(side, own_ms, spread, rng) for side in sides]), launcher)
    return _blocks_of_segments(load(run), sides)


def _drawn_ms(side: str, own_ms: float, spread: float, rng: random.Random) -> float:
    """The delay of a segment: its whole step is 5 % longer for B, and scatters by `spread`."""
    longer = 1 + DIFFERENCE if side == "b" else 1.0
    whole = (_DELAY_MS + own_ms) * longer * math.exp(rng.gauss(0, spread))
    return round(whole - own_ms, 3)


def _delayed(delays_ms: Sequence[float]) -> RunSpec:
    changes = [
        {"step": index * _SEGMENT_STEPS, "changes": {"inject": [{"replica": 0, "ms": ms}]}}
        for index, ms in enumerate(delays_ms)
        if index
    ]
    return _spec(delays_ms[0], 1, len(delays_ms) * _SEGMENT_STEPS, changes)


def _blocks_of_segments(run: Profile, sides: Sequence[str]) -> list[Block]:
    timed = [timed_run(run, side, number) for number, side in enumerate(sides)]
    return [
        dict(zip(sides[first : first + 3], timed[first : first + 3], strict=True))
        for first in range(0, len(sides), 3)
    ]


def _spec(
    delay_ms: float, batch_size: int = 128, steps: int = 60, changes: Sequence[object] = ()
) -> RunSpec:
    return RunSpec.model_validate(
        {
            "strategy": "one-device",
            "devices": "cpu:1",
            "workload": "digits-cnn",
            "global_batch_size": batch_size,
            "steps": steps,
            "inject": [{"replica": 0, "ms": delay_ms}],
            "reconfigure": changes,
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
