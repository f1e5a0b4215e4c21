"""What a step costs under `strategy-lab trace`, both sides in turns within one process.

    python -m benchmarks.trace_steps [--quick] [--seconds 60] [--cases custom:2 fit:10 ...]

A case is a loop (`custom` or Keras's `fit`) on two virtual CPU devices and the length of its steps
in ms, in a process of its own. Turns of 0.2 s with the hooks of `trace` and without them follow
each other; printed are the medians of the neighbours' ratios with their 95 % intervals. The start,
the first window and turns with a capture are left out: `benchmarks.trace` and
`benchmarks.capture_overhead` measure these.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measuring.paired import median_ratio
from benchmarks.measuring.record import record_figure, record_ratio

CASES = ("custom:2", "custom:5", "custom:10", "fit:2", "fit:5", "fit:10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), metavar="LOOP:MS")
    parser.add_argument("--quick", action="store_true", help="two cases of 20 s")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of each case")
    args = parser.parse_args()
    if args.quick:
        args.cases, args.seconds = ["custom:2", "fit:2"], min(args.seconds, 20.0)
    for case in args.cases:
        before = os.getloadavg()[0]
        loop, _, step_ms = case.partition(":")
        pairs = _measured(loop, step_ms, args.seconds)
        _print(case, pairs, before)


def _measured(loop: str, step_ms: str, seconds: float) -> list[list[dict[str, Any]]]:
    """The pairs of turns of a case: traced and alone."""
    with tempfile.TemporaryDirectory() as scratch:
        run = str(Path(scratch) / "run")
        command = [sys.executable, "-m", "benchmarks.programs.traced_turns"]
        done = subprocess.run(
            [*command, loop, step_ms, str(seconds), run],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return list(json.loads(done.stdout.splitlines()[-1]))


def _print(case: str, pairs: list[list[dict[str, Any]]], load: float) -> None:
    if not pairs:
        print(f"{case}: no turn without a capture; give it more --seconds", flush=True)
        return
    print(f"{case}: {len(pairs)} pairs, load {load:.1f} to {os.getloadavg()[0]:.1f}")
    sides = {"wall_ms": "wall", "cpu_ms": "processor time", "thread_ms": "training's thread"}
    for field, what in sides.items():
        ours, theirs = ([turn[field] for turn in side] for side in zip(*pairs, strict=True))
        more_us = statistics.median(a - b for a, b in zip(ours, theirs, strict=True)) * 1e3
        ratio = median_ratio(ours, theirs)
        record_ratio(f"{case}, {what}", ratio, len(pairs))
        print(
            f"  {what}: {statistics.median(theirs):.2f} ms alone, {ratio}, {more_us:+.0f} us",
            flush=True,
        )
    record_figure(f"{case}, more in the training's thread", more_us, "us")


if __name__ == "__main__":
    main()
