"""How soon each page about a run is there, in real Chromium: a run of 10,000 steps against 100.

    python -m benchmarks.pages [--quick] [--steps 10000] [--rounds 5]

Every visit is the first of its run (nothing of it is cached on the server) and of its browser
(nothing is cached there), in a browser without a debugger (`benchmarks.measuring.visits`). `answer`
is when the page says its first sentence, `whole` when every chart and table is drawn; both count
from asking for the address. Long and short run take turns, and so does Streamlit's own floor: a
page served by plain Streamlit that has one sentence, without and with one empty chart.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring.browser import serve, serve_lab
from benchmarks.measuring.paired import median_ratio
from benchmarks.measuring.record import record_figure, record_ratio
from benchmarks.measuring.visits import Visit, visit
from tests.lab_access import with_token
from tests.synthetic import write_run

PAGES = ("overview", "timeline", "communication", "placement", "compare", "runs")
FLOORS = {"a sentence": "", "and a chart": "?charts"}
TARGET_S = 2.0
SETTLE_S = 8.0
SHORT_STEPS = 100
SENTENCE = ".lab-headline"
ANSWER = {
    "runs": "[data-testid=stDataFrame]",
    "timeline": "[data-testid=stBidiComponentIsolated] >>> .timeline[data-drawn=yes]",
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
        with serve_lab(runs) as address, serve("benchmarks.programs.empty_page") as floor:
            time.sleep(SETTLE_S)  # the spare worker's import is over
            for served in (_address(address, "overview", "short-0"), f"{floor}/?charts"):
                visit(served, SENTENCE)  # the servers' own first time
            _report(address, floor, options)


def _report(address: str, floor: str, options: argparse.Namespace) -> None:
    print(f"{options.steps:,} steps against {SHORT_STEPS}, {options.rounds} first visits, seconds")
    print(
        f"{'page':<15}{'answer':>8}{'whole':>8}{'fastest':>9}{'slowest':>9}{'short':>8}{'ratio':>8}"
    )
    floors: dict[str, list[Visit]] = {name: [] for name in FLOORS}
    for page in options.pages:
        long, short = [], []
        selector = ANSWER.get(page, SENTENCE)
        for turn in range(options.rounds):
            long.append(visit(_address(address, page, f"long-{turn}"), selector))
            short.append(visit(_address(address, page, f"short-{turn}"), selector))
        for name, query in FLOORS.items():
            floors[name].append(visit(f"{floor}/{query}", SENTENCE))
        record_figure(
            f"{page}, {options.steps:,} steps, answer", [item.answer_s for item in long], "s"
        )
        record_figure(
            f"{page}, {options.steps:,} steps, whole", [item.whole_s for item in long], "s"
        )
        base = _median_whole(short)
        whole = _median_whole(long)
        kept = "kept" if whole <= TARGET_S else "missed"
        print(f"{page:<15}{_times(long)}{base:>8.2f}{whole / base:>7.2f}x  {TARGET_S:.0f} s {kept}")
        sys.stdout.flush()
        for steps, visits in ((options.steps, long), (SHORT_STEPS, short)):
            chart = floors["and a chart"][-len(visits) :]
            ratio = median_ratio([v.whole_s for v in visits], [v.whole_s for v in chart])
            record_ratio(f"{page}, {steps:,} steps, beside Streamlit", ratio, len(visits))
    print("Streamlit's own floor:")
    for name, visits in floors.items():
        print(f"{name:<15}{_times(visits)}")


def _times(visits: list[Visit]) -> str:
    answer = statistics.median(item.answer_s for item in visits)
    whole = [item.whole_s for item in visits]
    return f"{answer:>8.2f}{_median_whole(visits):>8.2f}{min(whole):>9.2f}{max(whole):>9.2f}"


def _median_whole(visits: list[Visit]) -> float:
    return statistics.median(item.whole_s for item in visits)


def _address(address: str, page: str, run: str) -> str:
    if page == "compare":
        other = f"{run}-again"
        return with_token(f"{address}/compare?a={run}&b={other}")
    return with_token(f"{address}/{page}?run={run}")


def _write(run: Path, steps: int) -> None:
    """A run of four replicas with a window every 330 steps or so, 8,000 op spans in each."""
    num_windows = max(steps // 330, 1)
    sizes = {"windows": num_windows, "window_steps": 10, "ops_per_step": 200}
    write_run(run, steps=steps, checksums=True, **sizes)


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
