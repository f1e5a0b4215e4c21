"""From an event in the run folder to a pixel in Chromium, at 1,000 and at 20,000 events a second.

    python -m benchmarks.live_page [--quick] [--burners 2] [--seconds 20]

A process of its own writes steps of 4 replicas with their marks, as a worker does. The page notes
when the frame after each drawing begins: by then the drawing is on screen. A step's latency is the
time from its writing to the first such frame that includes it. Blank frames are drawings after
which the largest chart's canvas is empty. Bounds: 95th percentile at most 80 ms at 1,000 events a
second, no blank frame, and 20,000 a second held: the page shows the last step as soon. Meanwhile
another run's timeline and `/healthz` are asked for, and were while as much was written that no one
follows: bounds 1.5 times as long, and 100 ms. Then a browser opens what was written, and notes when
it draws the last step, and when it has no more to read. With `--burners` so many processes use the
processor as well, and the bound is 250 ms.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from playwright.sync_api import Page

from benchmarks.measuring.browser import chromium, serve_lab
from benchmarks.measuring.record import record_figure
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import SegmentOpened, StepDone, WorkerStarted
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import create_run_file
from tests.lab_access import with_token
from tests.synthetic import write_run

REPLICAS = 4
BATCH_S = 0.005
"""The writer sleeps so long between two bursts: a sleep is not exact enough for one event."""
SETTLE_S = 8.0
BOUND_MS, BUSY_BOUND_MS = 80.0, 250.0
BESIDE = ("/api/runs/other/timeline", "/healthz")
ASK_EVERY_S, ALONE_S = 0.1, 5.0

WATCH = """() => {
  const root = document.querySelector('[data-testid="stBidiComponentIsolated"]')
    .shadowRoot.querySelector('.live');
  const canvas = root.querySelector('canvas[data-chart=wall]');
  window.drawn = []; window.blank = 0; window.frames = 0;
  const beat = () => { window.frames += 1; requestAnimationFrame(beat); };
  requestAnimationFrame(beat);
  let count = 0;
  root.addEventListener('strategy-lab:drawn', (event) => {
    const step = event.detail;
    if (count++ % 10 === 0) {
      const box = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      if (!box.some((value) => value)) window.blank += 1;
    }
    const now = () => performance.timeOrigin + performance.now();
    requestAnimationFrame(() => window.drawn.push([step, now()]));
  });
}"""
ALL_READ = """() => !document.querySelector('[data-testid="stBidiComponentIsolated"]')
  .shadowRoot.querySelector('.lag').textContent"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="5 s per rate")
    parser.add_argument("--seconds", type=float, default=20.0, help="per rate")
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 20_000])
    parser.add_argument("--burners", type=int, default=0, help="processes that only compute")
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        folder, rate, seconds = options.write
        write_steps(Path(folder), int(rate), float(seconds))
        return
    seconds = 5.0 if options.quick else options.seconds
    bound_ms = BUSY_BOUND_MS if options.burners else BOUND_MS
    with tempfile.TemporaryDirectory() as scratch, serve_lab(Path(scratch)) as address:
        write_run(Path(scratch) / "other", replicas=REPLICAS, steps=100, windows=3)
        time.sleep(SETTLE_S)  # the spare worker's import is over
        with chromium() as browser, burning(options.burners):
            for rate in options.rates:
                page = browser.new_page(viewport={"width": 1440, "height": 1000})
                measured = measure(page, address, Path(scratch), rate, seconds)
                beside = f", {options.burners} burners" if options.burners else ""
                report(rate, f"{rate:,} events/s{beside}", measured, bound_ms)
                page.close()
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            open_backlog(page, address, Path(scratch), options.rates[-1])


@contextmanager
def burning(number: int) -> Iterator[None]:
    """So many processes that use a core each."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


class Beside:
    """Asks the server for other things, from a thread; how long each answer took, in ms."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.took_ms: dict[str, list[float]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._request_pages)

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def p95(self, path: str) -> float:
        return float(np.percentile(self.took_ms[path], 95))

    def _request_pages(self) -> None:
        while not self._over.wait(ASK_EVERY_S):
            for path in BESIDE:
                begun = time.perf_counter()
                with urllib.request.urlopen(with_token(f"{self._address}{path}")) as answer:
                    answer.read()
                self.took_ms.setdefault(path, []).append((time.perf_counter() - begun) * 1e3)


def measure(page: Page, address: str, runs: Path, rate: int, seconds: float) -> dict[str, Any]:
    """Latencies in ms of every step, drawings and frames a second, blank frames, CPU shares."""
    name = f"rate-{rate}"
    create_run_file(runs / name, {"strategy": "mirrored", "devices": f"cpu:{REPLICAS}"})
    log = EventLog(worker_folder(runs / name, 0).events)
    log.write(WorkerStarted(0, os.getpid(), time.time_ns(), 0))
    log.write(SegmentOpened(0, "mirrored", REPLICAS, 1, 64, 0, time.time_ns(), [], "auto", {}))
    log.write(step(0))
    log.close()
    page.goto(with_token(f"{address}/?run={name}"))
    page.locator(".live[data-step='0']").wait_for()
    page.evaluate(WATCH)
    server = server_process()
    writer = start_writer(runs / f"unfollowed-{rate}", rate, ALONE_S)
    with Beside(address) as alone:
        while writer.poll() is None:
            page.wait_for_timeout(200)
    server.cpu_percent()
    begun = time.perf_counter()
    writer = start_writer(runs / name, rate, seconds)
    with Beside(address) as beside:
        while writer.poll() is None:
            page.wait_for_timeout(200)
        used_bytes = server.memory_info().rss
    page.wait_for_timeout(1000)
    elapsed = time.perf_counter() - begun
    drawn = np.array(page.evaluate("window.drawn"))
    written = np.load(runs / name / "written.npy")
    at = np.searchsorted(drawn[:, 0], np.arange(1, len(written)), side="left")
    is_drawn = at < len(drawn)
    return {
        "latency": drawn[at[is_drawn], 1] - written[1:][is_drawn] / 1e6,
        "missed": int((~is_drawn).sum()),
        "steps": len(written) - 1,
        "drawings": len(drawn) / elapsed,
        "frames": page.evaluate("window.frames") / elapsed,
        "blank": page.evaluate("window.blank"),
        "server_cpu": server.cpu_percent(),
        "server_bytes": used_bytes,
        "beside": {path: (alone.p95(path), beside.p95(path)) for path in BESIDE},
    }


def start_writer(run: Path, rate: int, seconds: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.live_page", "--write"]
    return subprocess.Popen([*command, str(run), str(rate), str(seconds)])


def open_backlog(page: Page, address: str, runs: Path, rate: int) -> None:
    """Print how soon a browser draws the newest step of a run that was not followed."""
    shutil.copytree(runs / f"rate-{rate}", runs / "backlog")
    written = np.load(runs / "backlog" / "written.npy")
    begun = time.perf_counter()
    page.goto(with_token(f"{address}/?run=backlog"))
    page.locator(".live[data-step]:not([data-step=''])").wait_for()
    first_s = time.perf_counter() - begun
    page.locator(f".live[data-step='{len(written) - 1}']").wait_for(timeout=120_000)
    newest_s = time.perf_counter() - begun
    page.wait_for_function(ALL_READ, timeout=120_000)
    all_s = time.perf_counter() - begun
    record_figure("opened late, newest step", newest_s, "s")
    record_figure("opened late, all", all_s, "s")
    print(
        f"opened after {len(written):,} steps: a step after {first_s:.2f} s, the newest after "
        f"{newest_s:.2f} s, all read after {all_s:.2f} s",
        flush=True,
    )


def report(rate: int, figure: str, measured: dict[str, Any], bound_ms: float) -> None:
    p50, p95, worst = np.percentile(measured["latency"], [50, 95, 100])
    print(
        f"{rate:>6,} events/s  {measured['steps']:>8,} steps  event to pixel p50 {p50:.0f} ms, "
        f"p95 {p95:.0f} ms ({p95 / bound_ms:.2f}x the bound), worst {worst:.0f} ms  "
        f"never shown {measured['missed']}  blank frames {measured['blank']}  "
        f"{measured['drawings']:.0f} drawings/s, {measured['frames']:.0f} frames/s, "
        f"server CPU {measured['server_cpu']:.0f} %, {measured['server_bytes'] / 1e6:.0f} MB",
        flush=True,
    )
    record_figure(figure, p95, "ms")
    record_figure(f"{figure}, memory", measured["server_bytes"] / 1e6, "MB")
    (alone_ms, beside_ms), (_, health_ms) = (measured["beside"][path] for path in BESIDE)
    record_figure(f"{figure}, timeline", beside_ms / alone_ms, "x")
    record_figure(f"{figure}, healthz", health_ms, "ms")
    for path, (alone_ms, beside_ms) in measured["beside"].items():
        print(
            f"        {path}: p95 {alone_ms:.0f} ms alone, {beside_ms:.0f} ms beside it "
            f"({beside_ms / alone_ms:.2f}x)",
            flush=True,
        )


def write_steps(run: Path, rate: int, seconds: float) -> None:
    """Append steps evenly in time; `written.npy` holds when each was written, in epoch ns."""
    log = EventLog(worker_folder(run, 0).events)
    written = np.zeros(int(rate * seconds) + 1, np.int64)
    begin = time.perf_counter()
    number = 1
    while number < len(written):
        due = min(int((time.perf_counter() - begin) * rate), len(written) - 1)
        while number <= due:
            log.write(step(number))
            written[number] = time.time_ns()
            number += 1
        time.sleep(BATCH_S)
    np.save(run / "written.npy", written)


def step(number: int) -> StepDone:
    now = time.time_ns()
    marks = [(now, now + 4_000_000 + 100_000 * r, now + 6_000_000) for r in range(REPLICAS)]
    return StepDone(0, number, now, 7.5, 2.3 / (1 + number / 500), 64, False, 0.4, marks)


def server_process() -> psutil.Process:
    for process in psutil.Process().children():
        if "strategy_app" in process.cmdline():
            return process
    raise RuntimeError("the lab's server is gone")


if __name__ == "__main__":
    main()
