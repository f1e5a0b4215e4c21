"""A launched run on the terminal: its events as they come, signals that stop it, how it ended."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import strategy_profiles
from strategy_core.cli._progress import JsonLines, ProgressBar
from strategy_core.cli._summary_text import print_summary
from strategy_core.launcher.launcher import RunHandle
from strategy_core.processes import protocol
from strategy_profiles.run.events import Event, StepDone
from strategy_profiles.run.tail import Tail

POLL_S = 0.05


def watch(
    handle: RunHandle, is_json: bool, worker: int | None = None, signals: Sequence[int] = ()
) -> list[Event]:
    """Show every event until the run is over; returns all events except steps.

    Args:
      worker: limits them to that process's, where others write into the same folder.
      signals: those of `signals_kept`, under which the run was started.
    """
    reporter = JsonLines() if is_json else ProgressBar(handle.spec.steps)
    tail, kept = Tail(handle.folder), list[Event]()
    with signals_stop(handle.stop, handle.kill, signals), reporter:
        while True:
            is_over = handle.wait(POLL_S)
            for written in tail.read():
                if worker is not None and written.of_worker not in (None, worker):
                    continue
                reporter.show(written)
                if not isinstance(written.event, StepDone):
                    kept.append(written.event)
            if is_over:
                return kept


def report(handle: RunHandle, is_json: bool, *, with_summary: bool = True) -> int:
    """Say how the run ended; returns the exit code for that."""
    is_done = handle.status in ("finished", "stopped")
    if handle.message:
        print(f"strategy-lab: {' '.join(handle.message.split())}", file=sys.stderr)
    if handle.exit_code == protocol.EXIT_REFUSED:
        return 2
    if with_summary:
        _show_summary(handle.folder, is_json)
    if not is_json:
        print(f"\nRecorded in {handle.folder}")
        if not is_done:
            print("Output of the worker: stderr.log in its folder there")
    return 0 if is_done else 1


def _show_summary(folder: Path, is_json: bool) -> None:
    profile = strategy_profiles.load(folder)
    if is_json:
        print(json.dumps({"kind": "summary", **profile.summary()}))
    else:
        print_summary(profile, profile.summary())


@contextmanager
def signals_kept() -> Iterator[list[int]]:
    """Only note SIGINT, SIGHUP and SIGTERM: a start that ends midway leaves a run of no state."""
    kept: list[int] = []
    with _handler(lambda number, _frame: kept.append(number)):
        yield kept


@contextmanager
def signals_stop(
    stop: Callable[[], object], kill: Callable[[], object], kept: Sequence[int] = ()
) -> Iterator[None]:
    """On SIGINT, SIGHUP or SIGTERM, stop at the next step; on the second one, kill the run.

    Those of `kept` come first.
    """

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if stops:
            kill()
            return
        stops.append(True)
        stop()
        with suppress(OSError):  # the terminal may be what has gone
            print("\nStopping after this step (again to end at once) ...", file=sys.stderr)

    stops: list[bool] = []
    with _handler(on_signal):
        for number in kept:
            on_signal(number, None)
        yield


@contextmanager
def _handler(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
