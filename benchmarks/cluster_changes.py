"""Apply pressed until the first step: a cluster changed in its processes, and by fresh ones.

    python -m benchmarks.cluster_changes [--quick]

Runs of two workers. In place: another batch, a delay, the batch before. The other side, in the same
run: a change of how gradients are packed, or of how weights are cut, takes fresh processes.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.paired import median_ratio
from benchmarks.reconfigure import change
from benchmarks.waiting import is_kind, line, wait_for
from profiles.spec import RunSpec
from strategy_core.launcher import Launcher

IN_PLACE: dict[str, dict[str, Any]] = {
    "half the batch": {"global_batch_size": 64},
    "a delay of 5 ms": {"inject": [{"worker": 1, "replica": 0, "ms": 5}]},
    "the batch before": {"global_batch_size": 128},
}
CLUSTERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "multi-worker-mirrored": ({}, {"bytes_per_pack": 100_000}),
    "parameter-server": ({"parameter_servers": 1}, {"parameter_server.partitioner": "fixed"}),
}
"""By strategy: what its spec needs, and a change that takes fresh processes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    turns = 1 if parser.parse_args().quick else 5
    for strategy in CLUSTERS:
        with tempfile.TemporaryDirectory() as folder, Launcher() as launcher:
            told = [measure(launcher, Path(folder) / str(turn), strategy) for turn in range(turns)]
        fresh = [times["fresh processes"] for times in told]
        print(line(f"{strategy}: fresh processes", fresh), flush=True)
        for what in IN_PLACE:
            here = [times[what] for times in told]
            print(line(f"{strategy}: {what}", here))
            print(f"  fresh processes take as long as this, times {median_ratio(fresh, here)}")


def measure(launcher: Launcher, folder: Path, strategy: str) -> dict[str, float]:
    """Seconds of each change of one run."""
    fields, by_fresh_ones = CLUSTERS[strategy]
    spec = RunSpec.model_validate(
        {
            "strategy": strategy,
            "workers": 2,
            "devices": "cpu:1",
            "workload": "digits-cnn",
            "global_batch_size": 128,
            "steps": 100_000,
            **fields,
        }
    )
    handle = launcher.launch(spec, folder)
    try:
        wait_for(handle, is_kind("step", step=10))
        changes = IN_PLACE | {"fresh processes": by_fresh_ones}
        return {what: change(handle, wanted).total for what, wanted in changes.items()}
    finally:
        handle.kill()
        handle.wait(10)


if __name__ == "__main__":
    main()
