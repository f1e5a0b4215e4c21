"""The processes of a run: who each is, how far it came up, and how it ended.

Folded from the events that they and their launcher wrote, in whatever order they arrive:

    book = ProcessBook()
    for told in tail.read():
        book.take(told.event, told.worker, told.generation)
    book.current()         the processes of the run as it is now
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from strategy_lab.profiles.run.event_files import EventSource
from strategy_lab.profiles.run.events import (
    Environment,
    Event,
    Exited,
    Failed,
    Finished,
    Launched,
    Note,
    SegmentOpened,
    StepDone,
    WorkerStarted,
)

ProcessState = Literal["starting", "running", "done", "replaced", "lost", "ended"]
"""`lost` by its own doing or somebody's who killed it; `ended` because another was lost."""

_REJECTED = re.compile(r"rejected-worker-(\d+)-(\d+)-")
_GOOD_ENDS = ("finished", "stopped")


@dataclass(slots=True)
class Process:
    """One process of a run, as far as anybody told."""

    worker: int
    """Its number in the whole run."""
    generation: int
    task: str | None = None
    """What it is in a cluster: `worker 1`, `parameter server 0`."""
    pid: int | None = None
    address: str | None = None
    host: str | None = None
    is_launched: bool = False
    is_up: bool = False
    finished: str | None = None
    failed_ns: int | None = None
    failed: str | None = None
    """Its own last words, where it had any."""
    heard: bool = False
    """They only report the end of another process."""
    verdict: str | None = None
    message: str | None = None
    """The launcher's word on its end."""
    follows: int | None = None
    """Number of the process that was lost before it."""
    lost_ns: int | None = None

    @property
    def title(self) -> str:
        return self.task or f"worker {self.worker}"

    @property
    def state(self) -> ProcessState:
        if self.verdict == "replaced" or self.finished == "replaced":
            return "replaced"
        if self.verdict in _GOOD_ENDS or (self.verdict is None and self.finished):
            return "done"
        if self.verdict is not None or self.failed is not None:
            is_led = self.follows is not None if self.verdict else self.heard
            return "ended" if is_led else "lost"
        return "running" if self.is_up else "starting"

    @property
    def is_over(self) -> bool:
        return self.state not in ("starting", "running")

    @property
    def last_words(self) -> str | None:
        """Why it ended: the launcher's word, which is in its own where it had any."""
        return self.message or self.failed


class ProcessBook:
    """All processes that a run ever had."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Process] = {}

    def take(self, event: Event, worker: int | None = None, generation: int | None = None) -> bool:
        """Note what an event of a writer tells; whether it told anything."""
        if isinstance(event, Note):
            return self._forget(event)
        if isinstance(event, Launched | Exited):
            worker, generation = event.worker, event.generation
        if worker is None or generation is None or not isinstance(event, _TELLING):
            return False
        _tell(self._known.setdefault((worker, generation), Process(worker, generation)), event)
        return True

    def has_stepped(self, worker: int, generation: int) -> None:
        """Note that a process has done steps, which is all that its steps tell."""
        key = worker, generation
        self._known.setdefault(key, Process(worker, generation)).is_up = True

    def current(self) -> list[Process]:
        """The latest process of each number, without those that have left for good."""
        latest: dict[int, Process] = {}
        for process in self._ours():
            known = latest.setdefault(process.worker, process)
            if process.generation > known.generation:
                latest[process.worker] = process
        return [latest[n] for n in sorted(latest) if latest[n].state != "replaced"]

    def arriving(self) -> list[Process]:
        """A fresh process group that has yet to take over: the launcher records it when it has."""
        ours = {(process.worker, process.generation) for process in self._ours()}
        newest = max((generation for _, generation in ours), default=0)
        return [
            process
            for key, process in sorted(self._known.items())
            if key not in ours and process.generation > newest and not process.is_over
        ]

    def titles(self) -> dict[int, str]:
        """By number what each was called last."""
        return {process.worker: process.title for _, process in sorted(self._known.items())}

    def _forget(self, note: Note) -> bool:
        """A fresh process that could not take over: its records were put away, says a note."""
        folder = note.fields.get("folder")
        match = _REJECTED.match(folder) if isinstance(folder, str) else None
        key = (int(match[1]), int(match[2])) if match else None
        if key not in self._known or self._known[key].is_launched:
            return False
        del self._known[key]
        return True

    def _ours(self) -> list[Process]:
        """Everyone, where no launcher tells who belongs to the run."""
        launched = [process for process in self._known.values() if process.is_launched]
        return launched or list(self._known.values())


def read_processes(sources: Sequence[EventSource]) -> ProcessBook:
    """The processes of a run that was read."""
    book = ProcessBook()
    for source in sources:
        for event in source.events:
            book.take(event, source.worker, source.generation)
        if len(source.steps) and source.worker is not None and source.generation is not None:
            book.has_stepped(source.worker, source.generation)
    return book


_TELLING = (
    Launched,
    WorkerStarted,
    Failed,
    Finished,
    Exited,
    SegmentOpened,
    Environment,
    StepDone,
)


def _tell(process: Process, event: Event) -> None:
    match event:
        case Launched():
            process.is_launched = True
            process.pid, process.host = event.pid, event.host
            process.task, process.address = event.task, event.address
        case WorkerStarted():
            process.pid = process.pid or event.pid
        case Failed():
            process.failed = event.message or "It failed."
            process.failed_ns, process.heard = event.at_ns, event.follows
        case Finished():
            process.finished = event.status
        case Exited():
            process.verdict, process.message = event.verdict, event.message
            process.follows = None if event.follows == process.worker else event.follows
            process.lost_ns = event.lost_ns
        case _:  # what a process writes once it is past its start
            process.is_up = True
