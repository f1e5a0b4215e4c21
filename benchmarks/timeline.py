"""A million spans on the timeline: time until they are there, and frames a second while panning.

    python -m benchmarks.timeline [--quick] [--spans 1000000]

Ready is from the page's request for the timeline, its modules being loaded already, to the frame
after the first drawing that has spans: those in view of a long run, and the page says that others
are to come. Whole is until all spans are there: reading the files, laying out, cutting, sending,
drawing. The server has not seen the run before. Panning is by Shift and drag, across the whole run
and close up.
Bounds: ready within 1.5 s, at least 30 frames a second.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from benchmarks.measuring.browser import chromium, serve_lab
from benchmarks.measuring.record import record_figure
from tests.lab_access import with_token
from tests.synthetic import write_run

READY_BOUND_S = 1.5
FRAMES_BOUND = 30
SETTLE_S = 8.0
SPANS_PER_STEP = 400

ROOT = """document.querySelector('[data-testid="stBidiComponentIsolated"]')
  ?.shadowRoot?.querySelector('.timeline')"""
WAIT = f"""(name) => new Promise((resolve) => {{
  const timings = () => {{
    const asked = performance.getEntriesByType('resource')
      .find((entry) => new URL(entry.name).pathname.endsWith('/timeline'));
    return (performance.now() - asked.startTime) / 1000;
  }};
  const look = () => {{
    const root = {ROOT};
    if (root?.dataset[name] === 'yes') requestAnimationFrame(() => resolve(timings()));
    else setTimeout(look, 4);
  }};
  look();
}})"""
FRAMES = """(seconds) => new Promise((resolve) => {
  const times = [];
  const beat = (now) => {
    times.push(now);
    if (now - times[0] < seconds * 1000) requestAnimationFrame(beat);
    else resolve(times);
  };
  requestAnimationFrame(beat);
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="100,000 spans, one round")
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    spans, rounds = (100_000, 1) if options.quick else (options.spans, options.rounds)
    with tempfile.TemporaryDirectory() as scratch:
        runs = Path(scratch)
        windows = max(spans // SPANS_PER_STEP // 10, 1)
        write_run(
            runs / "run-0",
            steps=windows * 10 + 20,
            windows=windows,
            ops_per_step=SPANS_PER_STEP // 4 - 3,
            checksums=True,
        )
        for number in range(1, rounds):  # the server knows a run by its folder
            shutil.copytree(runs / "run-0", runs / f"run-{number}")
        write_run(runs / "small", steps=20, windows=1, checksums=True)
        with serve_lab(runs) as address, chromium() as browser:
            time.sleep(SETTLE_S)  # the spare worker's import is over
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            open_run(page, address, "small")
            ready = [open_run(page, address, f"run-{number}") for number in range(rounds)]
            report_ready(page, f"{spans:,} spans", ready)
            report_pan(page, f"{spans:,} spans, whole run")
            page.keyboard.press("]")
            page.wait_for_timeout(500)
            report_pan(page, f"{spans:,} spans, one capture")


def open_run(page: Page, address: str, run: str) -> tuple[float, float]:
    """Seconds from the request for a run's timeline to its first spans on screen, and to all."""
    begun = time.perf_counter()
    page.goto(with_token(f"{address}/timeline?run={run}"))
    ready, whole = (float(page.evaluate(WAIT, name)) for name in ("drawn", "settled"))
    print(
        f"{run:>8}  ready {ready:.2f} s after asking, whole {whole:.2f} s, "
        f"{time.perf_counter() - begun:.2f} s after opening the page from nothing",
        flush=True,
    )
    return ready, whole


def report_ready(page: Page, made: str, opened: list[tuple[float, float]]) -> None:
    spans = int(page.evaluate(f"{ROOT}.dataset.spans"))
    for name, seconds in zip(("ready", "whole"), zip(*opened, strict=True), strict=True):
        median = float(np.median(seconds))
        record_figure(f"{made}, {name}", seconds, "s")
        print(
            f"{spans:,} spans {name} in {median:.2f} s ({median / READY_BOUND_S:.2f}x the bound), "
            f"from {min(seconds):.2f} to {max(seconds):.2f} s",
            flush=True,
        )


def report_pan(page: Page, what: str) -> None:
    canvas = page.locator(".timeline canvas")
    canvas.focus()
    if "whole" in what:
        page.keyboard.press("Home")
        page.keyboard.press("ArrowUp")
        page.wait_for_timeout(500)
    box = canvas.bounding_box()
    assert box is not None
    y = box["y"] + 90
    page.evaluate(f"() => {{ window.watched = ({FRAMES})(3); }}")
    page.mouse.move(box["x"] + 900, y)
    page.keyboard.down("Shift")
    page.mouse.down()
    begun = time.perf_counter()
    while (now := time.perf_counter() - begun) < 3:
        page.mouse.move(box["x"] + 700 + 400 * np.sin(2 * now), y)
    page.mouse.up()
    page.keyboard.up("Shift")
    between = np.diff(np.array(page.evaluate("() => window.watched")))
    record_figure(f"{what}, panning", 1000 / between.mean(), "frames/s")
    print(
        f"panning, {what}: {1000 / between.mean():.0f} frames/s "
        f"({1000 / between.mean() / FRAMES_BOUND:.2f}x the bound), "
        f"95 % of frames within {np.percentile(between, 95):.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
