"""Does `compare` tell a true 5 % from noise, by the number of runs that it asks for itself?

    python -m benchmarks.compare_noise                     made-up runs: thousands of comparisons
    python -m benchmarks.compare_noise --record FOLDER     real ones on this machine, see below

False alarms: two sides of one speed of which one is called faster. Found: a side that is 5 % slower
is called slower. Both go by the rule of `run --repeat auto`: as many pairs of runs as their spread
asks for, each pair in random order. Rates come with their 95 % interval (Wilson).

`--record` records blocks of three runs (A, the same again, and B with a real delay in its step), in
random order within a block, for as long as it is allowed; the same folder goes on. The rule is then
applied from each block on. The rates hold for the machine as it was then: quiet, or busy.

    python -m benchmarks.compare_noise --record FOLDER --controlled 60 [--spread 0.02]

`--controlled` records so many blocks with a noise that is known: a block is three segments of one
run, whose steps are nearly all delay, and the delay of each segment is drawn with this spread.
These rates show what the rule does with steps that were really recorded. They say nothing of how
much runs differ on this machine.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measuring.compare_noise_runs import Block, controlled_blocks, recorded_blocks
from strategy_core.launcher.repetition import MOST_AUTO
from strategy_profiles.analysis.compare.comparison import (
    Comparison,
    TimedRun,
    compare_sides,
)
from strategy_profiles.analysis.compare.repetitions import DIFFERENCE, PILOT_RUNS
from strategy_profiles.analysis.compare.run_time import RunTime
from strategy_profiles.tables.columns import Floats

TRIALS = 4000
_WITHIN = 0.008
"""Of the median of 60 steps that scatter by 5 % each."""

Noise = Callable[[np.random.Generator, int], Floats]
"""Logarithms of the step times of so many runs of one speed, in the order in which they run."""


def _independent(rng: np.random.Generator, num: int) -> Floats:
    return rng.normal(0, _WITHIN, num)


def _spread(share: float) -> Noise:
    return lambda rng, num: _independent(rng, num) + rng.normal(0, share, num)


def _walk(rng: np.random.Generator, num: int) -> Floats:
    return _independent(rng, num) + np.cumsum(rng.normal(0, 0.01, num))


def _modes(rng: np.random.Generator, num: int) -> Floats:
    return _independent(rng, num) + np.where(rng.random(num) < 0.5, 0.0, 0.06)


def _spells(rng: np.random.Generator, num: int) -> Floats:
    """Ten runs each: other programs run in three of ten spells, and runs then differ by 6 %."""
    busy = np.repeat(rng.random(num // 10 + 1) < 0.3, 10)[:num]
    return _independent(rng, num) + rng.normal(0, 1, num) * np.where(busy, 0.06, 0.01)


def _hiccups(rng: np.random.Generator, num: int) -> Floats:
    """Heavy tails: one run in ten is far off."""
    return _independent(rng, num) + 0.015 * rng.standard_t(2.5, num)


NOISES: dict[str, Noise] = {
    "noise within runs only": _independent,
    "runs differ by 1 %": _spread(0.01),
    "runs differ by 2 %": _spread(0.02),
    "runs differ by 4 %": _spread(0.04),
    "random walk, 1 % a run": _walk,
    "two modes, 6 % apart": _modes,
    "busy spells": _spells,
    "heavy tails": _hiccups,
}


@dataclass(frozen=True, slots=True)
class Rates:
    """Of comparisons of equal sides the alarms, of those that differ what was found."""

    trials: int
    alarms: int
    num_found: int
    num_runs: tuple[float, int]
    """A side: mean, and the most of nine in ten comparisons."""
    cut_short: int
    """Comparisons of sides that differ for which more runs were needed than allowed."""


def share(count: int, trials: int) -> str:
    """`4.8 % (4.2 to 5.5)`: with Wilson's interval."""
    z, rate = 1.96, count / trials
    middle = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    reach = (
        z
        * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
        / (1 + z * z / trials)
    )
    return f"{rate:6.1%} ({max(middle - reach, 0):.1%} to {min(middle + reach, 1):.1%})"


def by_the_rule(a: Sequence[TimedRun], b: Sequence[TimedRun]) -> tuple[Comparison, bool] | None:
    """What `--repeat auto` would have said, and whether it got the runs that it asked for.

    `a[i]` and `b[i]` are a pair. None if there are fewer pairs than the first decision needs.
    """
    most, wanted = min(len(a), len(b), MOST_AUTO), PILOT_RUNS
    if most < wanted:
        return None
    while True:
        comparison = compare_sides(a[:wanted], b[:wanted])
        needed = comparison.runs_needed or wanted
        if needed <= wanted or wanted == most:
            return comparison, needed <= wanted
        wanted = min(needed, most)


def simulate(noise: Noise, trials: int, rng: np.random.Generator) -> Rates:
    """The rule over made-up series, each of sides that are equal and of sides that differ."""
    alarms = num_found = cut_short = 0
    numbers = []
    for _ in range(trials):
        equal = by_the_rule(*_sides(noise, 0.0, rng))
        different = by_the_rule(*_sides(noise, math.log1p(DIFFERENCE), rng))
        assert equal is not None
        assert different is not None
        alarms += equal[0].is_different
        num_found += different[0].verdict == "A is faster"
        cut_short += not different[1]
        numbers.append(len(different[0].pairs))
    return Rates(
        trials,
        alarms,
        num_found,
        (float(np.mean(numbers)), int(np.quantile(numbers, 0.9, method="higher"))),
        cut_short,
    )


def _sides(
    noise: Noise, slower: float, rng: np.random.Generator
) -> tuple[list[TimedRun], list[TimedRun]]:
    """`MOST_AUTO` pairs, the order of each drawn by lot; B takes `slower` more (logarithm)."""
    logs = noise(rng, 2 * MOST_AUTO)
    first = rng.integers(0, 2, MOST_AUTO)
    places = 2 * np.arange(MOST_AUTO)
    a_places, b_places = places + first, places + 1 - first
    return _runs(logs[a_places], a_places), _runs(logs[b_places] + slower, b_places)


def _runs(logs: Floats, places: np.ndarray) -> list[TimedRun]:
    return [
        TimedRun(_time(20 * math.exp(log)), int(position))
        for log, position in zip(logs, places, strict=True)
    ]


def _time(median_ms: float) -> RunTime:
    return RunTime(median_ms, median_ms, median_ms, 60, 0, 0, 60.0, _WITHIN)


def _print_simulated(trials: int) -> None:
    print(f"{trials} comparisons of equal sides, as many of sides that differ by 5 %")
    print(f"{'':24} {'false alarms':26} {'found':26} runs a side: mean, 9 of 10  cut short")
    for number, (name, noise) in enumerate(NOISES.items()):
        rates = simulate(noise, trials, np.random.default_rng(number))
        mean, most = rates.num_runs
        print(
            f"{name:24} {share(rates.alarms, trials):26} {share(rates.num_found, trials):26} "
            f"{mean:16.1f}, {most:<10} {rates.cut_short / trials:8.1%}",
            flush=True,
        )


def _print_recorded(blocks: Sequence[Block]) -> None:
    sides = {side: [block[side] for block in blocks] for side in ("a", "again", "b")}
    print(f"{len(blocks)} blocks of A, A again, and B")
    for side, runs in sides.items():
        medians = [run.time.median_ms for run in runs]
        if medians:
            spread = float(np.std(np.log(medians), ddof=1)) if len(medians) > 1 else math.nan
            print(f"{side:6} {np.median(medians):7.2f} ms, runs differ by {spread:.1%}")
    if len(blocks) < PILOT_RUNS:
        print(f"too few: a comparison begins with {PILOT_RUNS}")
        return
    every = compare_sides(sides["a"], sides["b"])
    print(f"B / A over all blocks: {every.ratio:.3f} ({every.low:.3f} to {every.high:.3f})")
    for name, other in (("A against A, called different", "again"), ("A against B, found", "b")):
        answers = [by_the_rule(sides["a"][i:], sides[other][i:]) for i in range(len(blocks))]
        known = [item for item in answers if item is not None]
        enough = [comparison for comparison, got_all in known if got_all]
        if not enough:
            print(f"{name}: not known, each of {len(known)} comparisons asked for more runs")
            continue
        said = sum(
            comparison.is_different and (other == "again" or comparison.ratio > 1)
            for comparison in enough
        )
        numbers = [len(comparison.pairs) for comparison in enough]
        print(
            f"{name}: {share(said, len(enough))} of {len(enough)} overlapping comparisons, "
            f"{np.mean(numbers):.1f} runs a side; "
            f"{len(known) - len(enough)} asked for more runs than there are",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="real runs, kept there")
    parser.add_argument("--minutes", type=float, default=20.0, help="of recording; 0: read only")
    parser.add_argument("--steps", type=int, default=60, help="of a recorded run")
    parser.add_argument("--controlled", type=int, metavar="BLOCKS", help="with --record: see above")
    parser.add_argument("--spread", type=float, default=0.02, help="of controlled runs, relative")
    options = parser.parse_args()
    if options.record is None:
        _print_simulated(options.trials)
    elif options.controlled:
        print(
            f"controlled noise: real steps, nearly all delay; runs differ by {options.spread:.1%}"
        )
        _print_recorded(controlled_blocks(options.record, options.controlled, options.spread))
    else:
        _print_recorded(recorded_blocks(options.record, options.minutes, options.steps))


if __name__ == "__main__":
    main()
