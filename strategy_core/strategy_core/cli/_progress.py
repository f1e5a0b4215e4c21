"""What a run says while it runs: a progress bar for people, its events for programs."""

from __future__ import annotations

import json
import sys
from collections import deque
from statistics import median
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from strategy_profiles.reporting import units
from strategy_profiles.run.events import (
    CommandAnswered,
    Note,
    SegmentOpened,
    StepDone,
    WorkerStarted,
)
from strategy_profiles.run.tail import WrittenEvent

_RECENT_STEPS = 20


class JsonLines:
    """Every event as one line on stdout."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        return None

    def show(self, written: WrittenEvent) -> None:
        print(json.dumps(written.to_json()), flush=True)


class ProgressBar:
    """One line on the terminal: step, loss, step time, examples per second. Silent elsewhere."""

    def __init__(self, num_steps: int | None) -> None:
        console = Console(stderr=True, emoji=False)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}{task.fields[of]} steps  {task.fields[numbers]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._progress.add_task(
            "importing TensorFlow", total=num_steps, numbers="", of=_of(num_steps)
        )
        self._recent: deque[StepDone] = deque(maxlen=_RECENT_STEPS)

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._progress.__exit__(*exception)

    def show(self, written: WrittenEvent) -> None:
        match written.event:
            case WorkerStarted():
                self._progress.update(self._task, description="opening")
            case SegmentOpened() as segment:
                self._recent.clear()
                label = f"{segment.strategy} x{segment.num_replicas}"
                total = segment.spec.get("steps")
                self._progress.update(self._task, description=label, total=total, of=_of(total))
            case StepDone() as step:
                self._show_step(step)
            case CommandAnswered() as answer if answer.message:
                self._print(answer.status, answer.message)
            case Note() as note:
                self._print(note.level, note.message)

    def _print(self, what: str, message: str) -> None:
        self._progress.console.print(f"{what}: {escape(message)}")

    def _show_step(self, step: StepDone) -> None:
        self._recent.append(step)
        step_ms = median(step.wall_ms for step in self._recent)
        speed = ""
        if step.examples and step_ms:
            speed = f"{units.number(step.examples / step_ms * 1e3)} examples/s"
        numbers = f"loss {units.number(step.loss)}  {units.milliseconds(step_ms)}  {speed}"
        self._progress.update(self._task, completed=step.step + 1, numbers=numbers)


def _of(total: int | None) -> str:
    """`/100`; nothing for a run that goes on until it is stopped."""
    return f"/{total}" if total else ""
