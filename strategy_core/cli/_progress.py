"""What a run says while it runs: a progress bar for people, its events for programs."""

from __future__ import annotations

import json
import sys
from collections import deque
from statistics import median
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from strategy_lab.profiles import units
from strategy_lab.profiles.sources import Record

_RECENT_STEPS = 20


class Reporter(Protocol):
    """Takes the events of a run as they come."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: Any) -> None: ...

    def show(self, record: Record) -> None: ...


class JsonLines:
    """Every event as one line on stdout."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        return None

    def show(self, record: Record) -> None:
        print(json.dumps(record), flush=True)


class ProgressBar:
    """One line on the terminal: step, loss, step time, examples per second. Silent elsewhere."""

    def __init__(self, num_steps: int) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} steps  {task.fields[numbers]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._progress.add_task("importing TensorFlow", total=num_steps, numbers="")
        self._recent: deque[Record] = deque(maxlen=_RECENT_STEPS)

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.__exit__(kind, error, trace)

    def show(self, record: Record) -> None:
        match record["kind"]:
            case "worker_started":
                self._progress.update(self._task, description="opening")
            case "segment":
                self._recent.clear()
                total = (record.get("spec") or {}).get("steps")
                label = f"{record.get('strategy')} x{record.get('num_replicas')}"
                self._progress.update(self._task, description=label, total=total)
            case "step":
                self._show_step(record)
            case "answer" | "note" if record.get("message"):
                what = record.get("status") or record.get("level")
                self._progress.console.print(f"{what}: {escape(str(record['message']))}")

    def _show_step(self, record: Record) -> None:
        self._recent.append(record)
        step_ms = median(float(step["wall_ms"]) for step in self._recent)
        examples = record.get("examples")
        speed = f"{units.number(examples / step_ms * 1e3)} examples/s" if examples else ""
        numbers = f"loss {units.number(record.get('loss'))}  {units.milliseconds(step_ms)}  {speed}"
        self._progress.update(self._task, completed=record["step"] + 1, numbers=numbers)
