"""Apply pressed until the first step under the new configuration: in the worker, and across two.

    python -m benchmarks.reconfigure [--quick] [--workload digits-cnn]

One run per repetition, changed again and again, some steps apart. Across workers the spare one is
ready.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.waiting import is_kind, line, wait_for
from profiles.spec import RunSpec
from strategy_core.launcher import Launcher, RunHandle

LIMIT_S = 2.0
NICE = 10
SETTLE_S = 2.0
STEPS_BETWEEN = 30
"""Between two changes: the graph of the one before is on record by then."""
IN_WORKER: dict[str, dict[str, Any]] = {
    "4 to 2 devices": {"devices": "cpu:2"},
    "half the batch": {"global_batch_size": 128},
    "mirrored to central-storage": {"strategy": "central-storage"},
    "back to mirrored on 4 devices": {"strategy": "mirrored", "devices": "cpu:4"},
    "another cross-device algorithm": {"cross_device_ops": "reduction-to-one-device"},
    "a delay of 30 ms in replica 2": {"inject": [{"replica": 2, "ms": 30}]},
}
FRESH_WORKER = {"devices": "cpu:8,cpu:9", "inject": []}
"""Two devices, as in the first change, but the ninth and tenth: only a new process has them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--workload", default="digits-cnn")
    args = parser.parse_args()
    found: dict[str, list[float]] = {what: [] for what in (*IN_WORKER, "a fresh worker")}
    with tempfile.TemporaryDirectory() as scratch, Launcher(spare=True, nice=NICE) as launcher:
        for turn in range(1 if args.quick else 5):
            spec = RunSpec(devices="cpu:4", steps=100_000, workload=args.workload)
            handle = launcher.launch(spec, Path(scratch) / str(turn))
            wait_for(handle, is_kind("step", step=10))
            for what, changes in IN_WORKER.items():
                found[what].append(change_s(handle, changes))
            launcher.wait_for_spare(60)
            time.sleep(SETTLE_S)
            found["a fresh worker"].append(change_s(handle, FRESH_WORKER))
            handle.kill()
            handle.wait(10)
    for what, seconds in found.items():
        print(line(what, seconds, LIMIT_S if what in IN_WORKER else None))


def change_s(handle: RunHandle, changes: dict[str, Any]) -> float:
    """Seconds from the command until its answer, which follows the change's first step."""
    began = time.monotonic()
    answer = wait_for(handle, is_kind("answer", number=handle.reconfigure(changes)))
    took_s = time.monotonic() - began
    if answer["status"] != "applied":
        raise RuntimeError(answer["message"])
    wait_for(handle, is_kind("step", step=answer["step"] + STEPS_BETWEEN))
    return took_s


if __name__ == "__main__":
    main()
