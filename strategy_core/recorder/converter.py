"""Hands captures to the converter process, and collects its answers without ever waiting for it.

Losing the converter costs captures, never the training. The job that it was at is answered with an
error; the others go to a new converter. After `MOST_RESTARTS` of them there are no more captures: a
capture that takes more memory than there is would kill one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from strategy_core.recorder.helper_process import HelperProcess
from strategy_lab.profiles.capture.helper import Job

Answer = dict[str, Any]
MOST_RESTARTS = 3

_spare: list[HelperProcess] = []
"""A converter process that waits for the first converter of this process."""


def prepare() -> None:
    """Start a helper before there is anything to train, so that its imports cost no run a core."""
    if not _spare:
        _spare.append(HelperProcess())


class Converter:
    """A helper process, there with the first job at the latest; jobs are answered in order."""

    def __init__(
        self,
        now_s: Callable[[], float] = time.monotonic,
        start: Callable[[], HelperProcess] = HelperProcess,
    ) -> None:
        self._process: HelperProcess | None = None
        self._waiting: list[Job] = []
        self._was_ready = False
        self._import_ms = 0.0
        self._now_s = now_s
        self._start = start
        self._restarts_left = MOST_RESTARTS
        self._notes: list[str] = []
        self.is_given_up = False
        """Too many processes were lost: every further job is refused."""

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    def warm_up(self) -> None:
        """Have a helper: the one that waits, or a new one that imports beside the training."""
        if self._process is None and not self.is_given_up:
            spare = _take_spare()
            self._was_ready = spare is not None
            try:
                self._process = spare or self._start()
            except OSError as error:
                self.is_given_up = True
                self._notes.append(
                    f"The process that converts captures cannot be started ({error.strerror}). "
                    "This run captures no more windows."
                )

    def take_import_ms(self) -> float:
        """Processor time that the helper used before its first job, 0 if it was
        reported before, or a helper was running already."""
        took_ms, self._import_ms = self._import_ms, 0.0
        return 0.0 if self._was_ready else took_ms

    def take_notes(self) -> list[str]:
        """What happened to converter processes since this was asked last, in sentences."""
        notes, self._notes = self._notes, []
        return notes

    def submit(self, job: Job) -> None:
        """Have a capture converted; `answers` has the outcome in time."""
        if self._process is not None and not self._process.is_alive() and not self._waiting:
            self._lose(self._process.why_lost(self._now_s()) or "ended", None)
        self.warm_up()
        self._waiting.append(job)
        if self._process is not None:
            self._process.send(job)

    def answers(self) -> list[Answer]:
        """The answers that are there; a job that was lost with its process is answered, too."""
        if not self._waiting:
            return []
        if self._process is None:
            return self._refuse_all()
        # First whether it ended, then what it said: what it wrote before its end is all there.
        why = self._process.why_lost(self._now_s())
        found: list[Answer] = self._process.read()
        self._import_ms += sum(answer.pop("import_ms", 0.0) for answer in found)
        del self._waiting[: len(found)]
        if why is not None:
            lost = self._waiting.pop(0) if self._waiting else None
            if lost is not None:
                error = f"The process that converts captures {why}; the raw capture is kept"
                found.append({"number": lost.number, "error": error})
            self._lose(why, lost)
            if self._waiting:
                self._resubmit()
        return found if self._process is not None else found + self._refuse_all()

    def finish(self, timeout_s: float) -> list[Answer]:
        """Wait for all jobs, at most so long; those not done by then are answered as such."""
        found, deadline = self.answers(), self._now_s() + timeout_s
        if self._waiting and self._process is not None:
            self._process.step_forward()
        while self._waiting and self._now_s() < deadline:
            time.sleep(0.005)
            found += self.answers()
        message = f"Not converted within {timeout_s:g} s; the raw capture is kept"
        found += [{"number": job.number, "error": message} for job in self._waiting]
        self._waiting.clear()
        return found

    def close(self) -> None:
        """End the helper."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _lose(self, why: str, lost: Job | None) -> None:
        """A process is no more: end what is left of it, and say what follows."""
        self.close()
        cost = f"Capture window {lost.number} is lost" if lost is not None else "No capture is lost"
        self.is_given_up = self._restarts_left == 0
        if self.is_given_up:
            then = f"{MOST_RESTARTS + 1} were lost: this run captures no more windows"
        else:
            self._restarts_left -= 1
            then = "A new one is started"
        self._notes.append(f"The process that converts captures {why}. {cost}. {then}.")

    def _resubmit(self) -> None:
        self.warm_up()
        if self._process is not None:
            for job in self._waiting:
                self._process.send(job)

    def _refuse_all(self) -> list[Answer]:
        error = "The process that converts captures is gone; the raw capture is kept"
        refused, self._waiting = self._waiting, []
        return [{"number": job.number, "error": error} for job in refused]


def _take_spare() -> HelperProcess | None:
    spare = _spare.pop() if _spare else None
    return spare if spare is not None and spare.is_alive() else None
