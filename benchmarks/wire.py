"""Reported bytes per link against the kernel's interface counters; what a rate and a delay do.

    python -m benchmarks.wire [--quick] [--megabytes 20] [--steps 30]

Clusters of 2, 3 and 4 workers all-reduce one variable of a known size per step, each worker in a
network namespace with a veth interface of its own. `told` is what the lab reports for a worker's
links, headers and retransmissions; `kernel` is what its interface counted. Then two workers with a
link of a given rate, and of a given delay, against the same two without. Needs Linux with network
namespaces, and iproute2; says so where they are refused.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import strategy_profiles
from benchmarks.measuring.record import record_figure
from strategy_core.cluster.telemetry.tcp_info import connections
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.analysis.links import Links, links
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.tables.store import Profile

WORKLOAD = Path(__file__).with_name("programs") / "wire_workload.py"
RATE_MBIT = 400.0
DELAY_MS = 5.0
WARM_UP = 2


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder, Launcher() as launcher:
        bench = _Bench(launcher, Path(folder), options.megabytes, options.steps)
        try:
            free_ms = _print_clusters(bench)
            _print_links(bench, free_ms)
        except LabError as error:
            print(error, file=sys.stderr)
            return 2
    _print_cost()
    return 0


class _Bench:
    """Runs of the same workload, each in a folder of its own."""

    def __init__(self, launcher: Launcher, folder: Path, megabytes: int, steps: int) -> None:
        self.size_bytes = megabytes * 1_000_000
        self._launcher, self._folder, self._steps = launcher, folder, steps

    def run(self, workers: int, **network: Any) -> Profile:
        """A finished run; raises LabError where the system refuses its network."""
        spec = RunSpec.model_validate(
            {
                "strategy": "multi-worker-mirrored",
                "workers": workers,
                "devices": "cpu:1",
                "workload": str(WORKLOAD),
                "workload_options": {"size": self.size_bytes // 4},
                "global_batch_size": 4 * workers,
                "steps": self._steps,
                "capture": {"overhead_budget": 0.2, "window_steps": 4},
                "network": {"interfaces": True, **network},
            }
        )
        folder = self._folder / f"run-{len(list(self._folder.iterdir()))}"
        handle = self._launcher.launch(spec, folder)
        handle.wait()
        if handle.status != "finished":
            raise LabError(f"A run of the benchmark failed: {handle.message}")
        return strategy_profiles.load(folder)


def _print_clusters(bench: _Bench) -> float:
    """A row per size of cluster; the median step of two workers with a free link, in ms."""
    print(f"All-reduce of {bench.size_bytes / 1e6:.0f} MB, per worker and step, in MB")
    print(
        f"{'workers':>8}{'ring':>10}{'link':>10}{'gRPC':>9}{'told':>10}{'kernel':>10}"
        f"{'wire':>9}{'told/kernel':>13}{'from':>10}{'to':>10}"
    )
    free_ms, ratios = 0.0, []
    for workers in (2, 3, 4):
        profile = bench.run(workers)
        if workers == 2:
            free_ms = _step_ms(profile)
        ratios += _print_cluster(workers, links(profile, profile.segments[0]))
    record_figure("told, kernel", ratios, "x")
    return free_ms


def _print_cluster(workers: int, run_links: Links) -> list[float]:
    """A row; by worker the bytes that the lab reports, relative to what the kernel counted."""
    ring = [link for link in run_links.links if link.derived_bytes is not None]
    explained = [
        u.payload_bytes + u.header_bytes + u.retransmitted_bytes for u in run_links.interfaces
    ]
    kernel = [use.bytes for use in run_links.interfaces]
    ratios = [one / other for one, other in zip(explained, kernel, strict=True)]
    payload = sum(use.payload_bytes for use in run_links.interfaces)
    print(
        f"{workers:>8}{_mean_mb([link.derived_bytes or 0.0 for link in ring]):>10.3f}"
        f"{_mean_mb([link.bytes or 0.0 for link in ring]):>10.3f}"
        f"{100 * (run_links.overhead or 0.0):>8.3f}%"
        f"{_mean_mb(explained):>10.3f}{_mean_mb(kernel):>10.3f}"
        f"{100 * (sum(kernel) / payload - 1):>8.3f}%"
        f"{statistics.mean(ratios):>13.6f}{min(ratios):>10.6f}{max(ratios):>10.6f}",
        flush=True,
    )
    return ratios


def _print_links(bench: _Bench, free_ms: float) -> None:
    ideal_ms = bench.size_bytes * 8 / (RATE_MBIT * 1e3)
    print("\nTwo workers, median step in ms")
    print(f"{'link':>24}{'step':>10}{'ideal':>10}{'step/ideal':>12}")
    print(f"{'free':>24}{free_ms:>10.0f}{'':>10}{'':>12}")
    limited_ms = _step_ms(bench.run(2, rate_mbit=RATE_MBIT))
    name = f"{RATE_MBIT:.0f} Mbit/s"
    print(f"{name:>24}{limited_ms:>10.0f}{ideal_ms:>10.0f}{limited_ms / ideal_ms:>12.2f}")
    late_ms = _step_ms(bench.run(2, delay_ms=DELAY_MS))
    name = f"{DELAY_MS:.0f} ms one way"
    print(f"{name:>24}{late_ms:>10.0f}{'':>10}{'':>12}", flush=True)


def _print_cost() -> None:
    """What one look at a process's connections takes."""
    times_ms = []
    for _ in range(50):
        began = time.perf_counter()
        connections()
        times_ms.append((time.perf_counter() - began) * 1e3)
    print(f"\nCounting once, every second: {statistics.median(times_ms):.2f} ms here")


def _step_ms(profile: Profile) -> float:
    return float(statistics.median(profile.table("steps")["wall_ms"].to_pylist()[WARM_UP:]))


def _mean_mb(sizes: list[float]) -> float:
    return statistics.mean(sizes) / 1e6


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4 MB and 10 steps")
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    if options.quick:
        options.megabytes, options.steps = 4, 10
    return options


if __name__ == "__main__":
    sys.exit(main())
