"""How soon each page about a run is there, in real Chromium: a run of 10,000 steps against 100.

    python -m benchmarks.pages [--quick] [--steps 10000] [--rounds 5]

Every visit is the first of its run (nothing of it is cached on the server) and of its browser
(nothing is cached there). `answer` is when the page says its first sentence, `whole` when every
chart and table is drawn; both count from asking for the address. Long and short run take turns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Error

from benchmarks.browser import chromium, serve_lab
from tests.e2e.drawn import IS_DRAWN
from tests.synthetic import write_run

PAGES = ("overview", "timeline", "communication", "placement", "compare", "runs")
TARGET_S = 2.0
SHORT_STEPS = 100
ANSWER = {
    "runs": "[data-testid=stDataFrame]",
    "timeline": "canvas",
}
"""What a page's first answer is; a sentence, where it is not listed."""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="strategy-lab-pages-") as scratch:
        runs = Path(scratch)
        for turn in range(options.rounds):
            for again in ("", "-again"):
                _write(runs / f"long-{turn}{again}", options.steps)
                _write(runs / f"short-{turn}{again}", SHORT_STEPS)
        with serve_lab(runs) as address, chromium() as browser:
            _visit(browser, f"{address}/overview?run=short-0")  # the server's own first time
            _report(browser, address, options)


def _report(browser: Browser, address: str, options: argparse.Namespace) -> None:
    print(f"{options.steps:,} steps against {SHORT_STEPS}, {options.rounds} first visits, seconds")
    print(f"{'page':<15}{'answer':>8}{'whole':>8}{'slowest':>9}{'short':>8}{'ratio':>7}  target")
    for page in options.pages:
        long, short = [], []
        for turn in range(options.rounds):
            long.append(_visit(browser, _address(address, page, f"long-{turn}")))
            short.append(_visit(browser, _address(address, page, f"short-{turn}")))
        answer = statistics.median(visit[0] for visit in long)
        whole = statistics.median(visit[1] for visit in long)
        slowest = max(visit[1] for visit in long)
        base = statistics.median(visit[1] for visit in short)
        kept = "kept" if answer <= TARGET_S else "missed"
        print(
            f"{page:<15}{answer:>8.2f}{whole:>8.2f}{slowest:>9.2f}{base:>8.2f}"
            f"{whole / base:>6.2f}x  {TARGET_S:.0f} s {kept}",
            flush=True,
        )


def _address(address: str, page: str, run: str) -> str:
    if page == "compare":
        other = f"{run}-again"
        return f"{address}/compare?a={run}&b={other}"
    return f"{address}/{page}?run={run}"


def _visit(browser: Browser, url: str) -> tuple[float, float]:
    """Seconds until the page's first answer, and until all of it is drawn."""
    page_name = url.split("?", 1)[0].rsplit("/", 1)[1]
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    try:
        page = context.new_page()
        began = time.perf_counter()
        page.goto(url, wait_until="commit")
        page.wait_for_selector(ANSWER.get(page_name, ".lab-headline"), timeout=60_000)
        answer = time.perf_counter() - began
        page.wait_for_function(IS_DRAWN, timeout=60_000, polling=20)
        return answer, time.perf_counter() - began
    except Error as error:
        raise SystemExit(f"{url}: {error}") from error
    finally:
        context.close()


def _write(run: Path, steps: int) -> None:
    """A run of four replicas with a window every 330 steps or so, 8,000 op spans in each."""
    write_run(run, steps=steps, windows=max(steps // 330, 1), window_steps=10, ops_per_step=200)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--pages", nargs="+", choices=PAGES, default=PAGES)
    options = parser.parse_args()
    if options.quick:
        options.rounds = 1
    return options


if __name__ == "__main__":
    main()
