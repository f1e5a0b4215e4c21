"""`strategy-lab run`: a run without the page, by the same launcher."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import profiles
from profiles.spec import RunSpec
from profiles.tail import Tail
from strategy_core.cli._progress import JsonLines, ProgressBar, Reporter
from strategy_core.cli._run_request import add_spec_arguments, build_spec
from strategy_core.cli._summary_text import print_summary
from strategy_core.launcher import Launcher, RunHandle
from strategy_core.processes import protocol

HELP = "run a strategy and record it"
POLL_S = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_spec_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="RUN",
        help="the run folder (default: a new one in runs/)",
    )
    parser.add_argument("--json", action="store_true", help="events and the summary as JSON lines")


def run(args: argparse.Namespace) -> int:
    """0 where the run did what was asked, 1 where it failed, 2 where the request was wrong."""
    spec = build_spec(args)
    folder = args.output or _default_folder(spec)
    reporter: Reporter = JsonLines() if args.json else ProgressBar(spec.steps)
    with Launcher() as launcher:
        handle = launcher.launch(spec, folder)
        with _signals_stop(handle), reporter:
            records = _follow(handle, reporter)
    is_done = handle.status in ("finished", "stopped")
    if handle.message:
        print(f"strategy-lab: {' '.join(handle.message.split())}", file=sys.stderr)
    if handle.exit_code == protocol.EXIT_REFUSED:
        return 2
    summary = profiles.load(folder).summary()
    if args.json:
        print(json.dumps({"kind": "summary", **summary}))
    else:
        print_summary(summary)
        print(f"\nRecorded in {folder}")
        if not is_done:
            print("What its worker printed: stderr.log in the worker's folder there")
    refused = [r for r in records if r["kind"] == "answer" and r.get("status") == "rejected"]
    return 0 if is_done and not refused else 1


def _follow(handle: RunHandle, reporter: Reporter) -> list[dict[str, Any]]:
    """Show every event until the run is over; returns those that are few: no steps."""
    tail, kept = Tail(handle.folder), []
    while True:
        is_over = handle.wait(POLL_S)
        for record in tail.read():
            reporter.show(record)
            if record["kind"] != "step":
                kept.append(record)
        if is_over:
            return kept


@contextmanager
def _signals_stop(handle: RunHandle) -> Iterator[None]:
    """Ctrl-C, a closed terminal, a polite kill: stop at the next step; the second one kills."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if asked:
            handle.kill()
            return
        asked.append(True)
        handle.stop()
        with suppress(OSError):  # the terminal may be what has gone
            print("\nStopping after this step (again to end at once) ...", file=sys.stderr)

    asked: list[bool] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _default_folder(spec: RunSpec) -> Path:
    workload = Path(spec.workload).stem
    return Path("runs") / f"{workload}-{spec.strategy}-{time.strftime('%Y%m%d-%H%M%S')}"
