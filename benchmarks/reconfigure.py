"""Apply pressed until the first step under the new configuration, and where that time goes.

    python -m benchmarks.reconfigure [--quick] [--workload digits-cnn] [--places]

A run per round, changed again and again, some steps apart: in its worker, then into a fresh one,
which is the other side. A configuration that the run has had before is asked for again, too. The
spare worker is there before the first change. The events of each change give its parts:
built (until the segment opens: state taken, strategy, model and data), first step (traced and
run), answered. Rounds are done until their time is up: 100 s in all.

`--places` measures instead what a place for a delay costs each step of a run that the page starts,
which has one on every replica: one run with and without them in turns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import strategy_profiles
from benchmarks.measuring.paired import median_ratio
from benchmarks.measuring.record import record_figure, record_ratio
from benchmarks.measuring.waiting import is_kind, print_seconds, wait_for
from strategy_app.server.state import WORKER_NICE
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.spec.run_spec import RunSpec

LIMIT_S = 2.0
SETTLE_S = 2.0
ROUNDS_TAKE_S = 75.0
"""None begins later: the last one ends within 100 s."""
MOST_ROUNDS = 7
STEPS_BETWEEN = 30
"""Between two changes: the graph of the one before is on record by then."""
IN_WORKER: dict[str, dict[str, Any]] = {
    "2 to 4 devices": {"devices": "cpu:4"},
    "back to 2 devices": {"devices": "cpu:2"},
    "back to 4 devices": {"devices": "cpu:4"},
    "half the batch": {"global_batch_size": 128},
    "another cross-device algorithm": {"cross_device_ops": "reduction-to-one-device"},
    "back to the algorithm before": {"cross_device_ops": "auto"},
    "a delay of 30 ms in replica 2": {"inject": [{"replica": 2, "ms": 30}]},
    "60 ms instead": {"inject": [{"replica": 2, "ms": 60}]},
    "no delay again": {"inject": []},
    "mirrored to central-storage": {"strategy": "central-storage"},
    "back to mirrored": {"strategy": "mirrored"},
}
OTHER_LENGTHS = ("60 ms instead", "no delay again")
FRESH_WORKER = {"devices": "cpu:8,cpu:9,cpu:10,cpu:11"}
"""As many devices as before, because tracing takes most of a change and grows with their number.
Only a new process has the ninth and those after it."""
FRESH = "a fresh worker"
TURNS, STEPS_OF_TURN = 20, 200
"""Segments with and without places, and their steps."""


class Took(NamedTuple):
    """Of one change, in seconds."""

    total: float
    built: float
    first_step: float
    answered: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--workload", default="digits-cnn")
    parser.add_argument("--places", action="store_true", help="the cost of places for delays")
    args = parser.parse_args()
    if args.places:
        compare_places(args.workload)
        return
    took_by_change: dict[str, list[Took]] = {what: [] for what in (*IN_WORKER, FRESH)}
    with (
        tempfile.TemporaryDirectory() as scratch,
        Launcher(spare=True, nice=WORKER_NICE) as launcher,
    ):
        until = time.monotonic() + ROUNDS_TAKE_S
        for number in range(2 if args.quick else MOST_ROUNDS):
            one_round(launcher, args.workload, Path(scratch) / str(number), took_by_change)
            if time.monotonic() > until:
                break
    totals = {what: [each.total for each in took] for what, took in took_by_change.items()}
    back = [what for what in IN_WORKER if what.startswith("back") or what in OTHER_LENGTHS]
    record_figure("back", [statistics.median(totals[what]) for what in back], "s")
    for what, took in took_by_change.items():
        print_seconds(what, totals[what], LIMIT_S if what in IN_WORKER else None)
        parts = (statistics.median(part) for part in zip(*took, strict=True))
        _, built, first_step, answered = parts
        print(f"  built {built:.2f}, first step {first_step:.2f}, answered {answered:.2f}")
    for what in IN_WORKER:
        pairs = zip(took_by_change[FRESH], took_by_change[what], strict=True)
        ratios = [fresh.total / in_worker.total for fresh, in_worker in pairs]
        print(
            f"{FRESH} takes {statistics.median(ratios):4.1f} times as long "
            f"({min(ratios):.1f} to {max(ratios):.1f}) as {what}"
        )


def compare_places(workload: str) -> None:
    """The median step with a place for a delay on each of 2 replicas, and without."""
    with tempfile.TemporaryDirectory() as scratch, Launcher(nice=WORKER_NICE) as launcher:
        spec = RunSpec(devices="cpu:2", steps=TURNS * 10_000, workload=workload)
        handle = launcher.launch(spec, Path(scratch) / "run")
        for number in range(TURNS):
            changed = {"live_delays": number % 2 == 0}
            answer = wait_for(handle, is_kind("answer", number=handle.reconfigure(changed)))
            wait_for(handle, is_kind("step", step=answer["step"] + STEPS_OF_TURN))
        handle.kill()
        handle.wait(10)
        profile = strategy_profiles.load(handle.folder)
    took_ms: dict[bool, list[float]] = {True: [], False: []}
    for opened in profile.segments[1:]:
        steps = step_times(profile, opened.segment)
        took_ms[opened.segment % 2 == 1].append(float(np.median(steps.wall_ms[steps.timed])))
    ratio = median_ratio(took_ms[True], took_ms[False])
    medians = (f"{statistics.median(each):.2f} ms" for each in took_ms.values())
    print(f"a step with places for delays, and without: {', '.join(medians)}; {ratio}")
    record_ratio("places", ratio, len(took_ms[False]))


def one_round(
    launcher: Launcher, workload: str, folder: Path, took_by_change: dict[str, list[Took]]
) -> None:
    """One run: every change once, in order."""
    spec = RunSpec(devices="cpu:2", steps=100_000, workload=workload)
    launcher.wait_for_spare(60)
    handle = launcher.launch(spec, folder)
    wait_for(handle, is_kind("step", step=10))
    launcher.wait_for_spare(60)
    for what, changes in IN_WORKER.items():
        took_by_change[what].append(change(handle, changes))
    launcher.wait_for_spare(60)
    time.sleep(SETTLE_S)
    took_by_change[FRESH].append(change(handle, FRESH_WORKER))
    handle.kill()
    handle.wait(10)


def change(handle: RunHandle, changes: dict[str, Any]) -> Took:
    """From the command until its answer, which follows the change's first step."""
    began, began_ns = time.monotonic(), time.time_ns()
    answer = wait_for(handle, is_kind("answer", number=handle.reconfigure(changes)))
    total = time.monotonic() - began
    if answer["status"] != "applied":
        raise RuntimeError(answer["message"])
    first = answer["step"] - 1
    segment = wait_for(handle, is_kind("segment", first_step=first))
    step = wait_for(handle, is_kind("step", step=first))
    built = (segment["started_ns"] - began_ns) / 1e9
    stepped = (step["start_ns"] - segment["started_ns"]) / 1e9 + step["wall_ms"] / 1e3
    wait_for(handle, is_kind("step", step=answer["step"] + STEPS_BETWEEN))
    return Took(total, built, stepped, total - built - stepped)


if __name__ == "__main__":
    main()
