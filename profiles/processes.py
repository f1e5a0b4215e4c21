"""The processes of a run: who each is, how far it came up, and how it ended.

Folded from the events that they and their launcher wrote, in whatever order they arrive:

    book = ProcessBook()
    for record in records:
        book.take(record)
    book.current()         the processes of the run as it is now
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from strategy_lab.profiles.sources import EventSource, Record

if TYPE_CHECKING:
    from strategy_lab.profiles.store import Profile

ProcessState = Literal["starting", "running", "done", "replaced", "lost", "ended"]
"""`lost` by its own doing or somebody's who killed it; `ended` because another was lost."""

_REJECTED = re.compile(r"rejected-worker-(\d+)-(\d+)-")
_GOOD_ENDS = ("finished", "stopped")
_UP = ("segment", "environment", "step")
"""Whoever wrote one of these is past its start."""


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
    """They only tell of another one's end."""
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

    def take(self, record: Record, worker: Any = None, generation: Any = None) -> bool:
        """Note what a record tells; whether it told anything. The writer counts where the record
        names no process itself."""
        if record["kind"] == "note":
            return self._forget(record)
        number = record.get("worker", worker)
        of = record.get("generation", generation)
        teller = _TELLERS.get(record["kind"])
        if teller is None or type(number) is not int or type(of) is not int:
            return False
        teller(self._known.setdefault((number, of), Process(number, of)), record)
        return True

    def current(self) -> list[Process]:
        """The latest process of each number, without those that have left for good."""
        latest: dict[int, Process] = {}
        for process in self._ours():
            known = latest.setdefault(process.worker, process)
            if process.generation > known.generation:
                latest[process.worker] = process
        return [latest[n] for n in sorted(latest) if latest[n].state != "replaced"]

    def arriving(self) -> list[Process]:
        """A fresh crew that has yet to take over: the launcher records it when it has."""
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

    def _forget(self, note: Record) -> bool:
        """A fresh process that could not take over: its records were put away, says a note."""
        fields = note.get("fields")
        folder = fields.get("folder") if isinstance(fields, Mapping) else None
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
        for record in source.records:
            book.take(record, source.worker, source.generation)
    return book


def titles_of(profile: Profile) -> dict[int, str]:
    """What to call the processes that the run ever had, by number."""
    return read_processes(profile.sources).titles()


def _launched(process: Process, record: Record) -> None:
    process.is_launched = True
    process.pid = _number(record.get("pid"))
    process.task, process.address = _text(record.get("task")), _text(record.get("address"))
    process.host = _text(record.get("host"))


def _started(process: Process, record: Record) -> None:
    process.pid = process.pid or _number(record.get("pid"))


def _is_up(process: Process, _record: Record) -> None:
    process.is_up = True


def _failed(process: Process, record: Record) -> None:
    process.failed = _text(record.get("message")) or "It failed."
    process.failed_ns = _number(record.get("at_ns"))
    process.heard = record.get("follows") is True


def _finished(process: Process, record: Record) -> None:
    process.finished = _text(record.get("status"))


def _exited(process: Process, record: Record) -> None:
    process.verdict = _text(record.get("verdict")) or "unknown"
    process.message = _text(record.get("message"))
    follows = _number(record.get("follows"))
    process.follows = None if follows == process.worker else follows
    process.lost_ns = _number(record.get("lost_ns"))


_TELLERS = {
    "launched": _launched,
    "worker_started": _started,
    "failed": _failed,
    "finished": _finished,
    "exited": _exited,
    **dict.fromkeys(_UP, _is_up),
}


def _number(value: Any) -> int | None:
    return value if type(value) is int else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
