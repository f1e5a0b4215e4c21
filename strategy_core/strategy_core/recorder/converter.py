"""Sends captures to the converter process and collects the results without blocking.

Losing the converter process costs captures but never interrupts the training. The job in progress
fails with an error and the remaining jobs go to a new process. After `MOST_RESTARTS` restarts no
more captures are taken: a capture that needs more memory than the machine has would kill every new
process in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from strategy_core.recorder.helper_process import HelperProcess
from strategy_profiles.capture.helper import Job

Answer = dict[str, Any]
MOST_RESTARTS = 3

_spare: list[HelperProcess] = []
"""A converter process started by `prepare`, taken by the first `Converter` of this process."""


def prepare() -> None:
    """Start a converter process before training, so that its imports do not compete with the
    run."""
    if not _spare:
        _spare.append(HelperProcess())


class Converter:
    """Runs capture jobs in one helper process, which starts with the first job at the latest.

    Jobs are answered in order.
    """

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
        """True after too many processes were lost; every further job is refused."""

    def warm_up(self) -> None:
        """Take the spare helper process, or start a new one, which imports beside the training."""
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
        """Processor time that the helper spent on its imports, in ms; later calls return 0.

        Also returns 0 if the helper was ready beforehand, because its imports did not run beside
        the training.
        """
        took_ms, self._import_ms = self._import_ms, 0.0
        return 0.0 if self._was_ready else took_ms

    def take_notes(self) -> list[str]:
        """Sentences about lost converter processes since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def submit(self, job: Job) -> None:
        """Queue a capture for conversion; `answers` returns its result."""
        if self._process is not None and not self._process.is_alive() and not self._waiting:
            self._lose(self._process.why_lost(self._now_s()) or "ended", None)
        self.warm_up()
        self._waiting.append(job)
        if self._process is not None:
            self._process.send(job)

    def answers(self) -> list[Answer]:
        """Return the results available now, including an error for a job lost with its process."""
        if not self._waiting:
            return []
        if self._process is None:
            return self._refuse_all()
        # Check for the process's end before reading: all output of an ended process is then in the
        # pipe, so a result written just before the end is not reported as lost.
        why = self._process.why_lost(self._now_s())
        answers: list[Answer] = self._process.read()
        self._import_ms += sum(answer.pop("import_ms", 0.0) for answer in answers)
        del self._waiting[: len(answers)]
        if why is not None:
            lost = self._waiting.pop(0) if self._waiting else None
            if lost is not None:
                error = f"The process that converts captures {why}; the raw capture is kept"
                answers.append({"number": lost.number, "error": error})
            self._lose(why, lost)
            if self._waiting:
                self._resubmit()
        return answers if self._process is not None else answers + self._refuse_all()

    def finish(self, timeout_s: float) -> list[Answer]:
        """Wait up to `timeout_s` for all jobs; jobs that are not done by then get an error
        result."""
        answers, deadline = self.answers(), self._now_s() + timeout_s
        if self._waiting and self._process is not None:
            self._process.raise_priority()
        while self._waiting and self._now_s() < deadline:
            time.sleep(0.005)
            answers += self.answers()
        message = f"Not converted within {timeout_s:g} s; the raw capture is kept"
        answers += [{"number": job.number, "error": message} for job in self._waiting]
        self._waiting.clear()
        return answers

    def close(self) -> None:
        """Kill the helper process."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _lose(self, why: str, lost: Job | None) -> None:
        """Kill what remains of a lost process, and note the lost job and whether a new one
        starts."""
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
