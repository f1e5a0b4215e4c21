"""`python -m benchmarks.exports`: what the report and the trace of 10,000 steps cost and weigh.

The other side of the report is Plotly's script alone, which a report drawn with it would carry
before any data. The trace is measured with and without gzip. Drawn in Chromium means: from
opening the file until every chart has its lines and the timeline its spans.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from plotly.offline import get_plotlyjs

import strategy_profiles
from benchmarks.measuring.browser import chromium
from strategy_profiles.exports import write
from tests.synthetic import write_run

STEPS = 10_000
LIMIT_BYTES = 3_000_000
LIMIT_DRAWN_S = 2.0
DRAWN = "document.querySelectorAll('.uplot canvas').length >= 5 && performance.now()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4 replicas only, fewer repetitions")
    is_quick = parser.parse_args().quick
    repeats = 3 if is_quick else 7
    plotly_bytes = len(get_plotlyjs().encode())
    with tempfile.TemporaryDirectory() as scratch:
        for replicas in (4,) if is_quick else (1, 4, 16):
            run = Path(scratch) / f"run-{replicas}"
            options = {"windows": 12, "ops_per_step": 300, "straggler": (replicas - 1, 8.0)}
            write_run(run, steps=STEPS, replicas=replicas, checksums=True, **options)
            spans = strategy_profiles.load(run).table("spans").num_rows
            print(f"{STEPS:,} steps, {replicas} replicas, {spans:,} spans")
            _print_report(run, repeats, plotly_bytes)
            _print_traces(run, repeats)


def _print_report(run: Path, repeats: int, plotly_bytes: int) -> None:
    times, sizes = _repeated(run, "html", ".html", repeats)
    ratio = plotly_bytes / sizes[0]
    print(f"  report: {_size(sizes[0])}, {sizes[0] / LIMIT_BYTES:.2f} of the 3 MB allowed;")
    print(f"    Plotly's script alone is {_size(plotly_bytes)}, {ratio:.1f} times as large")
    print(f"    written in {_spread(times)}")
    drawn = _drawn_s(run, repeats)
    print(f"    drawn in Chromium in {_spread(drawn)}, {LIMIT_DRAWN_S:.0f} s allowed")


def _print_traces(run: Path, repeats: int) -> None:
    plain_times, plain = _repeated(run, "chrome-trace", ".json", repeats)
    times, packed = _repeated(run, "chrome-trace", ".json.gz", repeats)
    print(f"  trace: {_size(plain[0])} written in {_spread(plain_times)}")
    print(f"    gzip: {_size(packed[0])} ({plain[0] / packed[0]:.0f} times smaller) ", end="")
    print(f"in {_spread(times)}")


def _repeated(run: Path, format: str, suffix: str, repeats: int) -> tuple[list[float], list[int]]:
    """Seconds and bytes of each export, reading the run included."""
    times, sizes = [], []
    for number in range(repeats):
        target = run.parent / f"{run.name}-{number}{suffix}"
        times.append(_timed(partial(_export, run, format, target)))
        sizes.append(target.stat().st_size)
        target.unlink()
    return times, sizes


def _drawn_s(run: Path, repeats: int) -> list[float]:
    report = _export(run, "html", run.parent / f"{run.name}.html")
    times = []
    with chromium() as browser:
        for _ in range(repeats):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(report.as_uri())
            times.append(float(page.wait_for_function(DRAWN).json_value()) / 1e3)
            page.close()
    return times


def _export(run: Path, format: str, target: Path) -> Path:
    """Reads the run again each time, as a command does."""
    return write(strategy_profiles.load(run), format, target)


def _timed(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def _spread(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})"


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:.2f} MB"


if __name__ == "__main__":
    main()
