"""Apply pressed until the first step under the new configuration, and where that time goes.

    python -m benchmarks.reconfigure [--quick] [--workload digits-cnn]

A run per round, changed again and again, some steps apart: in its worker, then into a fresh one,
which is the other side. A configuration that the run has had before is asked for again, too. The
spare worker is there before the first change. The events of each change give its parts:
built (until the segment opens: state taken, strategy, model and data), first step (traced and
run), answered. Rounds are done until their time is up: 100 s in all.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measuring.waiting import is_kind, line, wait_for
from strategy_app.server.state import WORKER_NICE
from strategy_core.launcher.launcher import Launcher, RunHandle
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
FRESH_WORKER = {"devices": "cpu:8,cpu:9,cpu:10,cpu:11"}
"""As many devices as before, because tracing takes most of a change and grows with their number.
Only a new process has the ninth and those after it."""
FRESH = "a fresh worker"


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
    args = parser.parse_args()
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
    for what, took in took_by_change.items():
        print(line(what, [each.total for each in took], LIMIT_S if what in IN_WORKER else None))
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
