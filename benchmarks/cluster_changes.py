"""Apply pressed until the first step: a cluster changed in its processes, and by fresh ones.

    python -m benchmarks.cluster_changes [--quick]

A run of two workers of each strategy, changed in turns for a minute (with `--quick` half of it). In
place: another batch, a delay, both as they were. The other side, in the same run: a change of how
gradients are packed, or of how weights are cut, takes fresh processes. A second run has a launcher
that executes each process, the first one's are forked, as in a lab after its first run.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring.paired import median_ratio, ratio_of_medians
from benchmarks.measuring.record import record_ratio
from benchmarks.measuring.waiting import is_kind, print_seconds, wait_for
from benchmarks.reconfigure import change
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import RunSpec

IN_PLACE: dict[str, dict[str, Any]] = {
    "half the batch": {"global_batch_size": 64},
    "a delay of 5 ms": {"inject": [{"worker": 1, "replica": 0, "ms": 5}]},
    "the batch before, no delay": {"global_batch_size": 128, "inject": []},
}
FRESH = "fresh processes"
CLUSTERS: dict[str, tuple[dict[str, Any], str, tuple[Any, Any]]] = {
    "multi-worker-mirrored": ({}, "bytes_per_pack", (100_000, 0)),
    "parameter-server": (
        {"parameter_servers": 1},
        "parameter_server.partitioner",
        ("fixed", "none"),
    ),
}
"""By strategy: what its spec needs, and a field whose values, in turns, take fresh processes."""
TURNS_TAKE_S, QUICK_TURNS_TAKE_S = 50.0, 20.0
"""None begins later: one takes some ten seconds, and each run some eight to start."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    turns_take_s = QUICK_TURNS_TAKE_S if parser.parse_args().quick else TURNS_TAKE_S
    for strategy in CLUSTERS:
        forked = _seconds_by_change(strategy, turns_take_s, does_fork=True)
        executed = _seconds_by_change(strategy, turns_take_s, does_fork=False)[FRESH]
        print_seconds(f"{strategy}: {FRESH}, forked", forked[FRESH])
        print_seconds(f"{strategy}: {FRESH}, executed", executed)
        ratio = ratio_of_medians(executed, forked[FRESH])
        print(f"  {ratio} times as long as forked")
        record_ratio(f"{strategy}: executed, relative", ratio, len(executed))
        for what in IN_PLACE:
            print_seconds(f"{strategy}: {what}", forked[what])
            ratio = median_ratio(forked[FRESH], forked[what])
            print(f"  {FRESH} take as long as this, times {ratio}", flush=True)


def _seconds_by_change(
    strategy: str, turns_take_s: float, *, does_fork: bool
) -> dict[str, list[float]]:
    """Seconds of each change of a run."""
    by_change: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, Launcher(forks=does_fork) as launcher:
        for what, seconds in measured(launcher, Path(folder) / "run", strategy, turns_take_s):
            by_change[what].append(seconds)
    return by_change


def measured(
    launcher: Launcher, folder: Path, strategy: str, turns_take_s: float
) -> Iterator[tuple[str, float]]:
    """Each change of a run, and its seconds; whole turns of them."""
    fields, path, values = CLUSTERS[strategy]
    spec = RunSpec.model_validate(
        {
            "strategy": strategy,
            "workers": 2,
            "devices": "cpu:1",
            "workload": "digits-cnn",
            "global_batch_size": 128,
            "steps": 1_000_000,
            **fields,
        }
    )
    handle = launcher.launch(spec, folder)
    try:
        wait_for(handle, is_kind("step", step=10))
        until = time.monotonic() + turns_take_s
        for value in itertools.cycle(values):
            for what, wanted in (IN_PLACE | {FRESH: {path: value}}).items():
                yield what, change(handle, wanted).total
            if time.monotonic() > until:
                return
    finally:
        handle.kill()
        handle.wait(10)


if __name__ == "__main__":
    main()
