"""Run pressed until the first step's event is in the run folder: with the spare worker and cold.

    python -m benchmarks.startup [--quick] [--workload digits-cnn]

Both in turns in one process, as the page launches: workers at its nice value. The spare worker has
been ready for a while, as it is for someone who reads before they press.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.measuring.waiting import is_kind, print_seconds, wait_for
from strategy_app.server.state import WORKER_NICE
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import RunSpec

LIMIT_S = 3.0
SETTLE_S = 2.0
"""For what the spare worker still imports after it said that it is ready."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--workload", default="digits-cnn")
    args = parser.parse_args()
    warm: dict[int, list[float]] = {2: [], 4: []}
    cold: dict[int, list[float]] = {2: [], 4: []}
    with (
        tempfile.TemporaryDirectory() as scratch,
        Launcher(spare=True, nice=WORKER_NICE) as with_spare,
        Launcher(nice=WORKER_NICE) as without,
    ):
        for turn in range(2 if args.quick else 7):
            for devices in (2, 4):
                spec = RunSpec(devices=f"cpu:{devices}", steps=10_000, workload=args.workload)
                folder = Path(scratch) / f"{turn}-{devices}"
                cold[devices].append(first_step_s(without, spec, folder / "cold"))
                warm[devices].append(first_step_s(with_spare, spec, folder / "warm"))
    for devices in (2, 4):
        print_seconds(f"{args.workload}, {devices} devices, spare worker", warm[devices], LIMIT_S)
        print_seconds(f"{args.workload}, {devices} devices, cold", cold[devices])
        ratios = [c / w for c, w in zip(cold[devices], warm[devices], strict=True)]
        print(
            f"  cold takes {statistics.median(ratios):.1f} times as long "
            f"({min(ratios):.1f} to {max(ratios):.1f})"
        )


def first_step_s(launcher: Launcher, spec: RunSpec, folder: Path) -> float:
    """Seconds from launch until the first step's event can be read; the run is ended then."""
    if launcher.wait_for_spare(60):
        time.sleep(SETTLE_S)
    began = time.monotonic()
    handle = launcher.launch(spec, folder)
    wait_for(handle, is_kind("step"))
    took_s = time.monotonic() - began
    handle.kill()
    handle.wait(10)
    return took_s


if __name__ == "__main__":
    main()
