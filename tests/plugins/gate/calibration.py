"""How often does `gate` fail equal runs, and how often does it find a true 2, 5 and 10 %?

    python -m tests.plugins.gate.calibration                    made-up runs: thousands of gates
    python -m tests.plugins.gate.calibration --record FOLDER    real runs on this machine, see below
    python -m tests.plugins.gate.calibration --resample FOLDER  made-up runs of recorded steps

False alarms: gates of two equal sides in which any check (the step or a part of it) is beyond.
Found: gates in which the step is beyond when B takes 2, 5 or 10 % more. Each gate begins with six
runs a side and goes on with as many as it asks for, up to 60. Undecided: it asked for still more.
Rates come with their 95 % interval (Wilson).

`--record` records blocks of runs (A, A again, and A with 2, 5 and 10 % more matrix products in its
step) in random order, for so many minutes; the same folder goes on. `--resample` draws pairs
(A, A again) of these blocks and steps of them, in pieces of five, and makes B's longer by a factor:
the noise is real, the slowdown is not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.compare_noise import NOISES, Noise, share
from strategy_core.launcher.repetition import MOST_AUTO
from strategy_gate.baseline import CheckedRun, GatedRun, accept, read_run
from strategy_gate.checks import exact_checks
from strategy_gate.time_checks import Times, time_checks
from strategy_profiles.analysis.compare.machine import Machine
from strategy_profiles.analysis.compare.repetitions import PILOT_RUNS
from strategy_profiles.analysis.compare.run_time import RunTime, steady_ms, time_of
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.tables.columns import Floats
from tests.plugins.gate.calibration_runs import Block, blocks, record

TRIALS = 1000
SLOWDOWNS = (0.0, 0.02, 0.05, 0.10)
PARTS = {"phase compute": 0.6, "phase wait": 0.1, "phase transfer": 0.15, "phase idle": 0.1}
"""Shares of a made-up step."""
PIECE = 5
"""Steps in a row that are drawn together."""
_WITHIN = 0.008
_MACHINE = Machine("made-up", 2, None)

Sides = Callable[[float, np.random.Generator], tuple[list[GatedRun], list[GatedRun]]]
"""Runs of two sides, of which B takes so much longer."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Of gates at one true slowdown."""

    trials: int
    alarms: int
    """Any check beyond."""
    num_found: int
    """The step beyond."""
    undecided: int
    num_runs: float
    """A side, mean."""


def by_the_rule(a: Sequence[GatedRun], b: Sequence[GatedRun]) -> Times:
    """The gate with as many runs as it asks for; the runs are in pairs."""
    most, wanted = min(len(a), len(b), MOST_AUTO), PILOT_RUNS
    while True:
        checks = time_checks(a[:wanted], b[:wanted])
        is_open = checks.step.outcome == "undecided" and wanted < most
        if not is_open:
            return checks
        wanted = min(max(wanted + 1, checks.step.runs_needed or 0), most)


def rates(sides: Sides, slower: float, trials: int, seed: int) -> Rates:
    """Gates of sides that differ by `slower`."""
    rng = np.random.default_rng(seed)
    alarms = num_found = undecided = total = 0
    for _ in range(trials):
        times = by_the_rule(*sides(slower, rng))
        alarms += any(check.outcome == "beyond" for check in times.checks)
        num_found += times.step.outcome == "beyond"
        undecided += times.step.outcome == "undecided"
        total += times.num_runs[1]
    return Rates(trials, alarms, num_found, undecided, total / trials)


def made_up(noise: Noise) -> Sides:
    """Runs whose step has this noise; each part follows the step and has as much of its own."""

    def sides(slower: float, rng: np.random.Generator) -> tuple[list[GatedRun], list[GatedRun]]:
        logs = noise(rng, 2 * MOST_AUTO)
        first = rng.integers(0, 2, MOST_AUTO)
        places = 2 * np.arange(MOST_AUTO)
        own = noise(rng, 2 * MOST_AUTO * len(PARTS)).reshape(2 * MOST_AUTO, -1)
        return (
            [_made_up(logs[i], own[i], int(i)) for i in places + first],
            [_made_up(logs[i] + np.log1p(slower), own[i], int(i)) for i in places + 1 - first],
        )

    return sides


def resampled(recorded: Sequence[Block]) -> Sides:
    """Pairs of recorded runs of one spec, drawn again and again, with steps drawn from them."""
    pairs = [tuple(_steady(block[side]) for side in ("a", "again")) for block in recorded]

    def sides(slower: float, rng: np.random.Generator) -> tuple[list[GatedRun], list[GatedRun]]:
        a: list[GatedRun] = []
        b: list[GatedRun] = []
        for number in range(MOST_AUTO):
            one, other = rng.permutation(2)
            pair = pairs[rng.integers(len(pairs))]
            a.append(_run(_redrawn(pair[one], rng), 2 * number, {}))
            b.append(_run(_redrawn(pair[other], rng) * (1 + slower), 2 * number + 1, {}))
        return a, b

    return sides


def _steady(run: object) -> Floats:
    opened = run.segments[0]  # type: ignore[attr-defined]
    return steady_ms(step_times(run, opened.segment))  # type: ignore[arg-type]


def _redrawn(steps_ms: Floats, rng: np.random.Generator) -> Floats:
    starts = rng.integers(0, max(1, len(steps_ms) - PIECE), -(-len(steps_ms) // PIECE))
    drawn: Floats = np.concatenate([steps_ms[start : start + PIECE] for start in starts])
    return drawn


def _run(steps_ms: Floats, position: int, parts: dict[str, float]) -> GatedRun:
    return GatedRun(f"run {position}", _MACHINE, position, time_of(steps_ms), parts)


def _made_up(log: float, own: Floats, position: int) -> GatedRun:
    step_ms = 20 * float(np.exp(log))
    time = RunTime(
        median_ms=step_ms,
        p10_ms=step_ms,
        p90_ms=step_ms,
        num_steps=60,
        num_warm_up=0,
        num_captured=0,
        num_independent=60.0,
        log_error=_WITHIN,
    )
    parts = {
        name: part * step_ms * float(np.exp(noise))
        for (name, part), noise in zip(PARTS.items(), own, strict=True)
    }
    return GatedRun(f"run {position}", _MACHINE, position, time, parts)


def _print_rates(name: str, sides: Sides, trials: int, seed: int) -> None:
    for slower in SLOWDOWNS:
        got = rates(sides, slower, trials, seed)
        rate = share(got.num_found if slower else got.alarms, trials)
        what = f"{slower:.0%} slower, found" if slower else "equal, false alarms"
        print(
            f"{name:24} {what:22} {rate:26} undecided {got.undecided / trials:6.1%}, "
            f"{got.num_runs:5.1f} runs a side",
            flush=True,
        )


def _print_recorded(recorded: Sequence[Block]) -> None:
    read = [{side: read_run(run) for side, run in block.items()} for block in recorded]
    print(f"{len(read)} blocks of runs, each with A, A again, and 2, 5 and 10 % more work")
    for side in read[0]:
        logs = np.log([block[side].run.time.median_ms for block in read])
        against = logs - np.log([block["a"].run.time.median_ms for block in read])
        print(
            f"{side:6} {np.exp(np.median(logs)):7.2f} ms, runs differ by {logs.std(ddof=1):.1%}; "
            f"against its A {np.median(against):+.1%}, pairs differ by {against.std(ddof=1):.1%}"
        )
    for side in [side for side in read[0] if side != "a"]:
        _print_side(side, read)


def _print_side(side: str, read: Sequence[dict[str, CheckedRun]]) -> None:
    """Every window of six blocks or more as one gate."""
    windows = range(len(read) - PILOT_RUNS + 1)
    results = []
    exact = 0
    for start in windows:
        a, b = ([block[name] for block in read[start:]] for name in ("a", side))
        results.append(by_the_rule([item.run for item in a], [item.run for item in b]))
        accepted = accept(a[:PILOT_RUNS])
        exact += any(check.outcome == "beyond" for check in exact_checks(accepted, b[:PILOT_RUNS]))
    outcomes = [times.step.outcome for times in results]
    parts = sum(any(c.outcome == "beyond" for c in times.checks[1:]) for times in results)
    needed = [times.step.runs_needed or 0 for times in results]
    print(
        f"A against {side}, {len(results)} overlapping gates: step beyond "
        f"{outcomes.count('beyond')}, a part {parts}, an exact check {exact}; within "
        f"{outcomes.count('within')}, better {outcomes.count('better')}, undecided "
        f"{outcomes.count('undecided')} (asked for {int(np.median(needed)):,} runs, median)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="real runs, kept there")
    parser.add_argument("--minutes", type=float, default=20.0, help="of recording; 0: read only")
    parser.add_argument("--resample", type=Path, metavar="FOLDER", help="of --record")
    options = parser.parse_args()
    if options.record is not None:
        record(options.record, options.minutes)
        _print_recorded(blocks(options.record))
    elif options.resample is not None:
        print("resampled: real steps, drawn again; B's are longer by a factor")
        sides = resampled(blocks(options.resample))
        _print_rates("recorded steps", sides, options.trials, 0)
    else:
        print(f"made-up runs: {options.trials} gates of each kind")
        for number, (name, noise) in enumerate(NOISES.items()):
            _print_rates(name, made_up(noise), options.trials, number)


if __name__ == "__main__":
    main()
