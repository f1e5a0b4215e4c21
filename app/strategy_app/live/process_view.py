"""The processes of a followed run, sent to viewers whenever one of them changes."""

from __future__ import annotations

from typing import Any

from strategy_app.live.json_safe import dumps, plain
from strategy_app.live.resource_view import ResourceView
from strategy_app.live.server_worker_view import ServedView
from strategy_profiles.analysis.losses import Loss, find_loss
from strategy_profiles.run.events import (
    ClosureDone,
    Exited,
    Launched,
    SegmentOpened,
)
from strategy_profiles.run.process_history import ENDED_EARLY, Process, ProcessHistory
from strategy_profiles.run.tail import WrittenEvent


class ProcessView:
    """Fed with every event that is no step."""

    def __init__(self) -> None:
        self.version = 0
        """Number of changes so far. A viewer sends back the last one that it has seen."""
        self.resources = ResourceView()
        """What each process uses of its machine."""
        self.served = ServedView()
        """Pull, compute and push of the workers of parameter servers."""
        self.history = ProcessHistory()
        self._segment: SegmentOpened | None = None
        self._loss: Loss | None = None
        self._text: str | None = None

    def take(self, written: WrittenEvent) -> None:
        """Update a process from an event."""
        self.note_time(written)
        event = written.event
        if self.resources.take(written):
            return
        if isinstance(event, ClosureDone):
            self.served.take(event, self._segment)
        elif self.history.take(event, written.worker, written.generation):
            if isinstance(event, Launched):
                self.resources.forget(event.worker)  # that was the process before it
            elif isinstance(event, SegmentOpened):
                self._segment = event
            elif isinstance(event, Exited):
                # Kept after a restart has replaced the lost process in `current`.
                self._loss = find_loss(self.history.current(), self._segment) or self._loss
            self.version += 1
            self._text = None

    def note_time(self, written: WrittenEvent) -> None:
        """Note when a process wrote something, be it a step."""
        if written.worker is not None and written.generation is not None:
            self.history.wrote(written.worker, written.generation, written.event.at_ns)

    @property
    def titles(self) -> dict[int, str]:
        """What each process is called, by number."""
        return self.history.titles()

    @property
    def has_exit_reasons(self) -> bool:
        """Whether the launchers have written the exit reason of every process they started."""
        return all(one.verdict for one in self.history.current() if one.is_launched)

    @property
    def has_lost_one(self) -> bool:
        """Whether a process has ended before its time, and no other has taken its place."""
        return any(one.state in ENDED_EARLY for one in self.history.current())

    @property
    def has_arriving_ones(self) -> bool:
        """Whether new processes prepare to take over."""
        return bool(self.history.arriving())

    def text(self) -> str:
        """The processes as JSON text."""
        if self._text is None:
            self._text = dumps(plain(self._document()))
        return self._text

    def _document(self) -> dict[str, Any]:
        current = self.history.current()
        return {
            "processes": [_row(process) for process in current],
            "arriving": [_row(process) for process in self.history.arriving()],
            "loss": self._story(current),
        }

    def _story(self, current: list[Process]) -> list[str]:
        """Sentences on the last lost process: what followed, and its restart if it is back."""
        lost = find_loss(current, self._segment)
        if lost is not None:
            return lost.sentences
        if self._loss is None:
            return []
        back = [
            f"{process.title} was restarted (generation {process.generation})."
            for process in current
            if process.worker == self._loss.worker
        ]
        return self._loss.sentences + back


def _row(process: Process) -> dict[str, Any]:
    """The fields of a process that `app/strategy_app/frontend/live` reads."""
    return {
        "worker": process.worker,
        "generation": process.generation,
        "title": process.title,
        "pid": process.pid,
        "address": process.address,
        "host": process.host,
        "state": process.state,
        "follows": process.follows,
        "message": process.reason,
    }
