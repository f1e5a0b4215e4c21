"""`python -m benchmarks.summary`: how long a run of 10,000 steps takes to sum up, and to follow.

`--steps 1000000` measures one long run of two replicas instead, with its peak memory: as it is
recorded with captures, and without its `events.columns`, in turns. Each summary is a fresh process,
interpreter start and printing included.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring.record import record_figure
from strategy_profiles.run.layout import COLUMNS_FILE, worker_folders
from strategy_profiles.run.tail import read_since
from tests.synthetic import write_run

LIMIT_S = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--steps", type=int, metavar="N", help="one run of so many steps instead")
    arguments = parser.parse_args()
    repeats = 3 if arguments.quick or arguments.steps else 11
    if arguments.steps:
        _print_long_run(arguments.steps, repeats)
        return
    with tempfile.TemporaryDirectory() as scratch:
        for replicas in (1, 4, 16):
            run = Path(scratch) / f"run-{replicas}"
            write_run(run, steps=10_000, replicas=replicas, windows=20, checksums=True)
            times = [_summary(run)[0] for _ in range(repeats)]
            record_figure(f"10,000 steps, {replicas} replicas", times, "s")
            median = statistics.median(times)
            print(
                f"summary, 10,000 steps, {replicas:2} replicas: {median:.2f} s "
                f"({min(times):.2f} to {max(times):.2f}), "
                f"{median / LIMIT_S:.2f} of the {LIMIT_S} s allowed"
            )
        _print_tail_rate(Path(scratch) / "run-4")


def _print_long_run(steps: int, repeats: int) -> None:
    """Time and peak memory of the summary of a long run."""
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        # In another process: the peak memory of a process begins with that of its parent.
        options = {"steps": steps, "replicas": 2, "windows": 20, "checksums": True}
        maker = multiprocessing.get_context("spawn").Process(
            target=write_run, args=(run,), kwargs=options
        )
        maker.start()
        maker.join()
        columns = [folder.path / COLUMNS_FILE for folder in worker_folders(run)]
        measured: dict[str, list[tuple[float, int]]] = {"with columns": [], "without": []}
        for _ in range(repeats):
            measured["with columns"].append(_summary(run))
            for path in columns:
                path.rename(path.with_suffix(".aside"))
            measured["without"].append(_summary(run))
            for path in columns:
                path.with_suffix(".aside").rename(path)
    for side, readings in measured.items():
        times, peaks = zip(*readings, strict=True)
        record_figure(f"{steps:,} steps, 2 replicas, {side}", times, "s")
        record_figure(f"{steps:,} steps, 2 replicas, {side}, memory", max(peaks) / 1e6, "MB")
        print(
            f"summary, {steps:,} steps, 2 replicas, {side}: {statistics.median(times):.2f} s "
            f"({min(times):.2f} to {max(times):.2f}), peak memory {max(peaks) / 1e6:,.0f} MB"
        )


def _summary(run: Path) -> tuple[float, int]:
    """Return how long the summary takes, in s, and its peak memory in bytes."""
    started = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "strategy_core", "summary", str(run), "--json"],
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"The summary of {run} ended with code {child.returncode}")
    return time.perf_counter() - started, used.ru_maxrss * 1024  # KiB on Linux


def _print_tail_rate(run: Path) -> None:
    """Events a second of one processor that a tail takes in."""
    started = time.process_time()
    records, *_ = read_since(run, {})
    took = time.process_time() - started
    print(f"tail: {len(records) / took:,.0f} events a second ({len(records)} in {took:.2f} s)")


if __name__ == "__main__":
    main()
