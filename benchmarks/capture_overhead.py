"""What recording costs: the bare strategy's steps against the same steps with marks, with captures
within the default budget, and with every step captured.

    python -m benchmarks.capture_overhead [--quick] [--cases digits-cnn:2:10 ...] [--minutes 3]

A case is a workload, its devices and how long its bare step is made to last by its batch (ms; 0:
as it comes), in a process of its own. All kinds take turns in it, in blocks of a second or more,
each between two blocks of bare steps: the ratio is a block's over those two. A block ends when its
captures are converted and written, so nothing is left for others to pay. `wall` is the median of
the pairs (of the totals, where captures come seldom), `CPU` the same of processor time, helper
process included, which a busy machine does not change; both with their 95 % intervals. `profiler
alone` is TensorFlow's public start and stop around the same windows, and nothing of ours. `windows
alone` is what our windows make of it, with nothing converted: no full capture can cost less.
`bare again` is nothing at all: what it differs from 1 is the error of the others.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.capture_kinds import KINDS, TARGETS, Cost, Kind, made_to_last, sides
from benchmarks.paired import median_ratio, total_ratio

CASES = ("digits-cnn:2:10", "digits-cnn:4:10", "synthetic:2:100", "resnet50:2:0", "resnet50:4:0")
ROUNDS = {10: 8, 100: 4, 0: 2}
"""By how long a step lasts."""


def main() -> None:
    options = _options()
    if options.child:
        workload, devices, step_ms = options.child.split(":")
        _measure(options, workload, int(devices), int(step_ms))
        return
    for case in options.cases:
        command = [sys.executable, "-m", "benchmarks.capture_overhead", "--child", case]
        command += ["--kinds", *options.kinds]
        command += ["--rounds", str(options.rounds)] if options.rounds else []
        command += ["--minutes", str(options.minutes)] if options.minutes else []
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            command, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
        if done.returncode:
            raise SystemExit(f"{case} failed:\n{done.stderr[-2000:]}")


def _measure(options: argparse.Namespace, workload: str, devices: int, step_ms: int) -> None:
    """One case in this process: its kinds in turns; one line per kind."""
    built, bare_ms = made_to_last(workload, devices, step_ms)
    rounds = options.rounds or ROUNDS[step_ms]
    found: dict[str, list[tuple[Cost, Cost]]] = {name: [] for name in options.kinds}
    deadline = time.monotonic() + 60 * (options.minutes or float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        bare, others = sides(built, bare_ms, Path(folder), options.kinds)
        for turn in range(rounds):
            order = random.Random(turn).sample(options.kinds, len(options.kinds))
            for name in order:
                for _ in range(KINDS[name].pairs):
                    found[name].append(_pair(KINDS[name], bare_ms, bare, others[name]))
            if time.monotonic() > deadline:
                break
    num_steps = sum(cost.steps for _, cost in found[options.kinds[0]])
    bare_now = sum(base.wall_s for base, _ in found[options.kinds[0]])
    print(
        f"\n{workload}, mirrored, {devices} devices, global batch {built.spec.global_batch_size}: "
        f"bare step {bare_now / num_steps * 1e3:.1f} ms"
    )
    print(
        f"{'kind':<16}{'wall':<26}{'CPU':<26}"
        f"{'step alone':>11}{'captured':>10}{'pairs':>7}  at most"
    )
    for name in options.kinds:
        _print(name, found[name], step_ms)


def _pair(kind: Kind, bare_ms: float, bare: Any, other: Any) -> tuple[Cost, Cost]:
    """A block of a kind and the bare steps around it, for as many steps."""
    steps = max(2, round(kind.block_s * 1e3 / bare_ms))
    around = max(1, min(steps, round(1000 / bare_ms)) // 2)
    before = bare(around)
    ours: Cost = other(steps)
    after = bare(around)
    return (before + after).for_steps(ours.steps), ours


def _print(name: str, pairs: list[tuple[Cost, Cost]], step_ms: int) -> None:
    ratio = total_ratio if KINDS[name].is_seldom else median_ratio
    bare, ours = zip(*pairs, strict=True)
    wall = ratio([c.wall_s for c in ours], [c.wall_s for c in bare])
    cpu = ratio([c.cpu_s for c in ours], [c.cpu_s for c in bare])
    alone = median_ratio([c.median_ms for c in ours], [c.median_ms for c in bare])
    captured = sum(c.captured for c in ours) / sum(c.steps for c in ours)
    target = TARGETS[name].get(step_ms or 100, "")
    print(
        f"{name:<16}{wall!s:<26}{cpu!s:<26}{alone.value:>10.3f}x{captured:>9.1%}{len(pairs):>7}"
        f"  {target}",
        flush=True,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", nargs="+", default=list(CASES), metavar="WORKLOAD:DEVICES:MS")
    parser.add_argument("--rounds", type=int, help="instead of the usual number")
    parser.add_argument("--minutes", type=float, help="begin no round of a case after so long")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--quick", action="store_true", help="two devices and 10 ms only, 2 min")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.cases, options.rounds = options.cases[:1], options.rounds or 4
    return options


if __name__ == "__main__":
    main()
