"""What `strategy-lab trace` costs a program: its start, and its steps.

    python -m benchmarks.trace [--quick] [--seconds 60] [--idle]

The program runs alone and traced in turns, as a process of its own each time. With `--idle` it is
not traced but waits for `strategy-lab attach`, which does not come. Start: from the
process's start to the end of the first step. Steps: the average of all that follow, captures at the
default budget included; a segment's first captures come before they are paid for, so the ratio
falls with the length of the run. The load of the machine is printed, because both need a quiet one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring.paired import median_ratio
from benchmarks.measuring.record import record_figure, record_ratio

PROGRAM = Path(__file__).with_name("programs") / "trace_task.py"
TRACE = ["-m", "strategy_core", "trace"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of each run's steps")
    parser.add_argument("--idle", action="store_true", help="waiting for attach, not traced")
    args = parser.parse_args()
    trace = [*TRACE, "--idle"] if args.idle else TRACE
    side = "waiting" if args.idle else "traced"
    alone: list[tuple[float, float, float]] = []
    traced: list[tuple[float, float, float]] = []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(2 if args.quick else 5):
            run = [*trace, "-o", str(Path(scratch) / str(turn))]
            sides = [(alone, []), (traced, run)]
            for times, options in sides if turn % 2 else reversed(sides):
                times.append(timed(options, args.seconds))
    later = [ours[0] - theirs[0] for ours, theirs in zip(traced, alone, strict=True)]
    print(f"load before and after: {load:.1f}, {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores")
    print(
        f"start: {statistics.median(start for start, *_ in alone):.2f} s alone, "
        f"{statistics.median(later):+.2f} s {side} ({min(later):+.2f} to {max(later):+.2f})"
    )
    record_figure(f"{side}, start", later, "s more")
    for number, what in ((1, "step"), (2, "processor time of a step, in the program's process")):
        ms = [[times[number] for times in runs] for runs in (traced, alone)]
        ratio = median_ratio(*ms)
        record_ratio(f"{side}, {what.partition(',')[0]}", ratio, len(alone))
        print(
            f"{what}: {statistics.median(ms[1]):.2f} ms alone, {side} {ratio}, "
            f"{len(alone)} pairs of {args.seconds:g} s"
        )


def timed(options: list[str], seconds: float) -> tuple[float, float, float]:
    """Seconds until the first step's end, ms and processor ms of a later step, of one run."""
    command = [sys.executable, "-P", *options, str(PROGRAM), str(seconds)]
    begin = time.time()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    first_s, step_ms, used_ms = map(float, done.stdout.split())
    return first_s - begin, step_ms, used_ms


if __name__ == "__main__":
    main()
