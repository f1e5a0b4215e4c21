"""What start, first capture and changes hold a run up by, on a quiet and on a busy machine.

    python -m benchmarks.busy_machine [--rounds 2] [--burners 3]

In turns, a run alone and a run beside programs that use a whole core each, in sessions of their
own. All figures come from the run's events:

- start: from the launch, with a spare worker ready, until the first step is done;
- first capture: what the steps from the second one on took more than as many usual ones, gaps
  between them included, until the segment's graph and first window are in their tables;
- changes: from the command until its first step is done.

The other programs leave the run a share of the machine, so what takes processor time alone takes
longer by the inverse of that share. Two rows show how much: Python code on one core and on two,
without the lab. Usual steps are those of the same side.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measuring.record import record_figure
from benchmarks.measuring.waiting import is_kind, wait_for
from strategy_app.server.state import WORKER_NICE
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_profiles.run.tail import Tail
from strategy_profiles.spec.run_spec import RunSpec

LIMIT = 2.0
STEPS_BEFORE_CHANGES = 60
CHANGES: dict[str, dict[str, Any]] = {
    "a delay for the first time": {"inject": [{"replica": 1, "ms": 30}]},
    "no delay again": {"inject": []},
    "another algorithm": {"cross_device_ops": "reduction-to-one-device"},
    "central-storage": {"strategy": "central-storage"},
}
_BURN = "import os; own = os.getppid()\nwhile os.getppid() == own: sum(range(100_000))"
"""It ends with its parent, however that ends."""
_WORK = "for _ in range(400): sum(range(100_000))"
Side = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--burners", type=int, default=3)
    parser.add_argument("--nice", type=int, default=WORKER_NICE)
    args = parser.parse_args()
    quiet: list[Side] = []
    busy: list[Side] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(args.rounds):
            for side, num_burners in ((quiet, 0), (busy, args.burners)):
                folder = Path(scratch) / f"{number}-{num_burners}"
                side.append(one_run(folder, num_burners, args.nice))
    print(
        f"{'held up, seconds':32} {'quiet':>8} {'busy':>8}   busy/quiet, at most {LIMIT:g}x wanted"
    )
    for what in quiet[0]:
        ours = statistics.median(one[what] for one in quiet)
        theirs = statistics.median(one[what] for one in busy)
        record_figure(what, theirs / max(ours, 1e-3), "x")
        print(f"{what:32} {ours:8.2f} {theirs:8.2f}   {theirs / max(ours, 1e-3):6.2f}x")


def one_run(folder: Path, num_burners: int, nice: int) -> Side:
    """One run as the page starts it."""
    spec = RunSpec(devices="cpu:2", steps=1_000_000, workload="digits-cnn")
    side: Side = {}
    with Launcher(spare=True, nice=nice) as launcher:
        launcher.wait_for_spare(120)
        time.sleep(2)  # what it imports after that
        with burning(num_burners):
            began = time.monotonic()
            handle = launcher.launch(spec, folder)
            wait_for(handle, is_kind("step", step=0))
            side["start"] = time.monotonic() - began
            wait_for(handle, is_kind("window"))
            wait_for(handle, is_kind("step", step=STEPS_BEFORE_CHANGES))
            held_s, usual_ms = held_up(folder)
            side |= {"graph and first capture": held_s, "usual step": usual_ms / 1e3}
            for what, changes in CHANGES.items():
                side[what] = change(handle, changes)
            began = time.monotonic()
            handle.stop()
            handle.wait(120)
            side["stop"] = time.monotonic() - began
            for num_cores in (1, 2):
                side[f"Python alone, on {num_cores}"] = work_s(num_cores)
    return side


def work_s(num_cores: int) -> float:
    """Seconds that a program of one process for each core takes."""
    began = time.monotonic()
    one = f"{sys.executable} -c '{_WORK}'"
    subprocess.run(
        ["sh", "-c", f"{f' {one} & ' * num_cores} wait"], check=True, start_new_session=True
    )
    return time.monotonic() - began


def held_up(folder: Path) -> tuple[float, float]:
    """Seconds that the first steps of a run took more than usual ones, and a usual one's ms."""
    records = [record.to_json() for record in Tail(folder).read()]
    steps = sorted((r for r in records if r["kind"] == "step"), key=lambda r: r["step"])
    told_ns = next(r["at_ns"] for r in records if r["kind"] == "window")
    near = [step for step in steps[1:] if step["start_ns"] < told_ns]
    later = [step["wall_ms"] for step in steps if step["start_ns"] >= told_ns]
    usual_ms = statistics.median(later or [step["wall_ms"] for step in near])
    first_end_ns = steps[0]["start_ns"] + steps[0]["wall_ms"] * 1e6
    took_ms = (near[-1]["start_ns"] - first_end_ns) / 1e6 + near[-1]["wall_ms"]
    return (took_ms - usual_ms * len(near)) / 1e3, usual_ms


def change(handle: RunHandle, changes: dict[str, Any]) -> float:
    began = time.monotonic()
    answer = wait_for(handle, is_kind("answer", number=handle.reconfigure(changes)))
    took_s = time.monotonic() - began
    if answer["status"] != "applied":
        raise RuntimeError(answer["message"])
    wait_for(handle, is_kind("step", step=answer["step"] + 20))
    return took_s


@contextmanager
def burning(number: int) -> Iterator[None]:
    """So many other programs that use a core each."""
    command = [sys.executable, "-c", _BURN]
    started = [subprocess.Popen(command, start_new_session=True) for _ in range(number)]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


if __name__ == "__main__":
    main()
