"""What recording costs: the bare strategy's steps against the same steps with marks, with captures
within the default budget, and with every step captured.

    python -m benchmarks.capture_overhead [--quick] [--cases digits-cnn:2:10 ...] [--minutes 4]
        [--kinds budget marks ...]

A case is a workload, its devices and how long its bare step is made to last by its batch (ms; 0:
as it comes), in a process of its own. What costs a little in every step (`budget`, `marks`,
`default`, `bare again`) takes turns with bare steps one by one (0.02 s), in random order; a capture
is seen to its end, conversion included, in the turn in which it began. Most turns have none: theirs
is the middle of the differences to their neighbours. Turns with a capture count with all they took,
and so does the first window with the segment's graph, which comes before the first turn. What
captures every step is measured in blocks of seconds, each between two blocks of bare steps, as the
median of the pairs' ratios. `wall` and `CPU` (processor time, helper process included, which a busy
machine changes less) have their 95 % intervals, by bootstrap over turns. `profiler alone` is
TensorFlow's public start and stop around windows of the same length, and nothing of ours. `windows
alone` is what our windows make of it, with nothing converted: no full capture can cost less. `bare
again` is nothing at all: what it differs from 1 is the error of the others.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring.capture_kinds import (
    KINDS,
    TARGETS,
    TURN_S,
    TURNS_S,
    Cost,
    Kind,
    Opening,
    Side,
    made_to_last,
    profiled_steps,
    sides,
)
from benchmarks.measuring.paired import Ratio, median_ratio, ratio_with_events
from benchmarks.measuring.record import record_ratio
from strategy_core.processes.parent_death import tie_to

CASES = ("digits-cnn:2:10", "digits-cnn:4:10", "synthetic:2:100", "resnet50:2:0", "resnet50:4:0")
WITH_OPENING = ("budget", "default")
"""The others are asked what they cost later."""
MINUTES = 4.0
"""Enough to tell 1 % of a step of 10 ms on a quiet machine, of all kinds but those in blocks."""


def main() -> None:
    options = _options()
    if options.child:
        tie_to(os.getppid())  # ends with its parent, also if that is killed
        workload, devices, step_ms = options.child.split(":")
        _measure(options, workload, int(devices), int(step_ms))
        return
    for case in options.cases:
        command = [sys.executable, "-m", "benchmarks.capture_overhead", "--child", case]
        command += ["--kinds", *options.kinds]
        command += ["--rounds", str(options.rounds)] if options.rounds else []
        command += ["--minutes", str(options.minutes)]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            command, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
        if done.returncode:
            raise SystemExit(f"{case} failed:\n{done.stderr[-2000:]}")


def _measure(options: argparse.Namespace, workload: str, devices: int, step_ms: int) -> None:
    """One case in this process: its kinds in turns; one line per kind."""
    built, bare_ms = made_to_last(workload, devices, step_ms)
    costs: dict[str, list[tuple[Cost, Cost]]] = {name: [] for name in options.kinds}
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        every = sides(built, bare_ms, Path(folder), options.kinds)
        deadline = time.monotonic() + 60 * options.minutes
        for _ in range(options.rounds or sys.maxsize):
            for name in chance.sample(options.kinds, len(options.kinds)):
                costs[name] += _part(KINDS[name], bare_ms, every.bare, every.others[name], chance)
            if time.monotonic() > deadline:
                break
    bare = [base for pairs in costs.values() for base, _ in pairs]
    typical_ms = statistics.median(cost.wall_s / cost.steps for cost in bare) * 1e3
    print(
        f"\n{workload}, mirrored, {devices} devices, global batch {built.spec.global_batch_size}: "
        f"bare step {typical_ms:.1f} ms"
    )
    print(
        f"{'kind':<16}{'wall':<26}{'CPU':<26}"
        f"{'step alone':>11}{'captured':>10}{'steps':>8}{'turns':>7}  at most"
    )
    for name in options.kinds:
        case = f"{workload}:{devices}:{step_ms}"
        _print(case, name, costs[name], every.openings.get(name))


def _part(
    kind: Kind, bare_ms: float, bare: Side, other: Side, chance: random.Random
) -> list[tuple[Cost, Cost]]:
    """A kind's part of a round: pairs of bare steps and its own."""
    if kind.block_s is not None:
        return [_block_between(kind.block_s, bare_ms, bare, other)]
    steps = max(1, round(TURN_S * 1e3 / bare_ms))
    pairs = []
    for _ in range(max(4, round(TURNS_S * 1e3 / bare_ms / steps))):
        if chance.random() < 0.5:
            base, ours = bare(steps), other(steps)
        else:
            ours, base = other(steps), bare(steps)
        pairs.append((base, ours))
    return pairs


def _block_between(block_s: float, bare_ms: float, bare: Side, other: Side) -> tuple[Cost, Cost]:
    """A block of a kind, in whole windows, and the bare steps around it."""
    window = profiled_steps(bare_ms)  # the end of a window costs as much after fewer steps
    steps = max(1, round(block_s * 1e3 / bare_ms / window)) * window
    around = max(1, min(steps, round(1000 / bare_ms)) // 2)
    before = bare(around)
    ours = other(steps)
    return before + bare(around), ours


def _print(case: str, name: str, pairs: list[tuple[Cost, Cost]], opening: Opening | None) -> None:
    bare, ours = zip(*pairs, strict=True)
    wall = _ratio(name, pairs, opening, _wall_s)
    cpu = _ratio(name, pairs, opening, lambda cost: cost.cpu_s)
    alone = statistics.median(c.median_ms for c in ours) / statistics.median(
        c.median_ms for c in bare
    )
    steps = sum(c.steps for c in ours)
    captured = sum(c.captured for c in ours) / steps
    target = TARGETS[name].get(int(case.rpartition(":")[2]) or 100, "")
    record_ratio(f"{case}, {name}", wall, len(pairs))
    record_ratio(f"{case}, {name}, processor time", cpu, len(pairs))
    print(
        f"{name:<16}{wall!s:<26}{cpu!s:<26}{alone:>10.3f}x{captured:>9.1%}{steps:>8}{len(ours):>7}"
        f"  {target:<8}",
        end="",
    )
    if opening is not None and name in WITH_OPENING:
        # Its share of the ratio is that of a run of as many steps as were measured.
        usual_s = statistics.median(c.wall_s / c.steps for c in bare)
        run_s = usual_s * (steps + opening.recorded.steps)
        opening_s = opening.longer(_wall_s) * opening.recorded.steps
        print(f"opening {opening_s:+.2f} s of {run_s:.0f} s", end="")
    print(flush=True)


def _ratio(
    name: str,
    pairs: list[tuple[Cost, Cost]],
    opening: Opening | None,
    seconds: Callable[[Cost], float],
) -> Ratio:
    bare, ours = zip(*pairs, strict=True)
    theirs = [seconds(cost) / cost.steps for cost in bare]
    each = [seconds(cost) / cost.steps for cost in ours]
    if KINDS[name].block_s is not None:
        return median_ratio(each, theirs)
    steps = [cost.steps for cost in ours]
    has_work = [cost.has_work for cost in ours]
    if opening is not None and name in WITH_OPENING:
        usual = statistics.median(theirs)
        each = [usual + opening.longer(seconds), *each]
        theirs = [usual, *theirs]
        steps = [opening.recorded.steps, *steps]
        has_work = [True, *has_work]
    return ratio_with_events(each, theirs, steps, has_work)


def _wall_s(cost: Cost) -> float:
    return cost.wall_s


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", nargs="+", default=list(CASES), metavar="WORKLOAD:DEVICES:MS")
    parser.add_argument("--rounds", type=int, help="at most so many")
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, help="begin no round of a case after so long"
    )
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--quick", action="store_true", help="two devices and 10 ms only, 2 min")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.cases, options.minutes = options.cases[:1], min(options.minutes, 1.5)
    return options


if __name__ == "__main__":
    main()
