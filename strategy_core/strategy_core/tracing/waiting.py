"""A program that waits for `strategy-lab attach`: it records when its run folder says so.

A thread of the program looks into the mailbox of its run folder. Each request names a run folder of
its own, which the program's next steps are recorded into. The thread also closes that record, so
that the program's own threads do not wait for the conversion of captures.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strategy_core.tracing.ending import close_recording, failed_by, write_fault
from strategy_core.tracing.session import Session
from strategy_core.tracing.settings import Settings

if TYPE_CHECKING:
    from strategy_core.tracing.recording import Recording
    from strategy_profiles.run.command_mailbox import LeftCommand

POLL_S = 0.2
_LATE_S = 2.0
"""A step that goes on for this long after the end of the recording is left out."""


@dataclass(slots=True)
class Request:
    """The recording that `attach` requested."""

    number: int
    run: Path
    num_steps: int | None
    seconds: float | None
    ends_s: float | None = None
    """Monotonic time at which no further step begins."""

    def is_over(self, recording: Recording) -> bool:
        """Whether the step that is done is the last one."""
        if self.num_steps is not None and recording.recorder.next_step >= self.num_steps:
            return True
        return self.ends_s is not None and time.monotonic() >= self.ends_s


class Waiting:
    """The waiting of one process, from its import of TensorFlow to its end."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pid = os.getpid()
        self._run: Path | None = None
        self._log: Any = None
        self._request: Request | None = None
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self._turn = session.turn = threading.RLock()
        session.idle()

    def begin(self) -> None:
        """Make the run folder, if the command has not made it, and wait for requests."""
        from strategy_core.tracing.waiting_folder import open_log, waiting_run

        self._run = waiting_run(self._session.settings)
        self._log = open_log(self._run)
        self._thread = threading.Thread(target=self._serve, name="strategy-lab", daemon=True)
        self._thread.start()

    def end(self, error: BaseException | None) -> None:
        """The program ends: close its record, and what is being recorded."""
        if self._run is None or os.getpid() != self._pid:
            return  # without TensorFlow, or a forked child, which has no part in the record
        try:
            self._end(error)
        except Exception as wrong:
            self._session.faults.tell(wrong)

    def _end(self, error: BaseException | None) -> None:
        from strategy_profiles.run.events import Finished

        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        if self._request is not None:
            self._finish(self._request, error)
        num_steps = self._session.num_idle_steps
        if error is not None and not isinstance(error, KeyboardInterrupt):
            self._log.write(failed_by(error))
        else:
            self._log.write(Finished("finished" if error is None else "stopped", num_steps))
        self._log.close()

    # -- the thread

    def _serve(self) -> None:
        from strategy_profiles.run.command_mailbox import read_commands

        assert self._run is not None
        last = 0
        while not self._is_over.wait(POLL_S):
            for command in read_commands(self._run, last):
                last = command.number
                self._take(command)
            if self._request is not None and self._is_done(self._request):
                self._finish(self._request)

    def _take(self, command: LeftCommand) -> None:
        if command.command == "stop":
            if self._request is not None:
                self._finish(self._request)
            return
        try:
            self._begin_recording(command)
        except Exception as error:  # a request that is wrong must not end the waiting
            self._answer(command.number, str(error))

    def _begin_recording(self, command: LeftCommand) -> None:
        """Have the session record from its next step on. Raises an error that says why not."""
        from strategy_profiles.errors import LabError
        from strategy_profiles.run.manifest import create_run_file

        if self._request is not None:
            raise LabError(f"It is being recorded into {self._request.run} already")
        if worker := _worker_of_cluster():
            raise LabError(
                f"It is worker {worker} of its cluster", advice="Attach to the cluster's worker 0"
            )
        # The imports take longer than a step, and belong into this thread.
        from strategy_core.tracing import recording
        from strategy_profiles.spec.run_spec import Capture

        assert recording
        changes = dict(command.changes)
        request = Request(
            command.number, Path(changes["run"]), changes["steps"], changes["seconds"]
        )
        capture = Capture.model_validate(changes["capture"]).model_dump(exclude_defaults=True)
        create_run_file(request.run, recorded_by="record")
        if request.seconds is not None:
            request.ends_s = time.monotonic() + request.seconds
        self._request = request
        with self._turn:
            self._session.is_due = request.is_over
            settings = Settings(str(request.run), self._pid, capture, waits=True)
            self._session.record_into(settings)
            self._session.leaves_out_next = True

    def _is_done(self, request: Request) -> bool:
        """Whether no further step comes into the recording."""
        session = self._session
        if session.is_idle or session.faults.is_off or session.own_record is not None:
            return True
        return request.ends_s is not None and time.monotonic() >= request.ends_s + _LATE_S

    def _finish(self, request: Request, error: BaseException | None = None) -> None:
        """Close the recording, and answer the request."""
        session = self._session
        with self._turn:
            if not session.is_idle:
                session.idle()
            recording, session.left = session.left, None
        self._request = None
        try:
            self._answer(request.number, *self._closed(request, recording, error))
        except Exception as wrong:
            session.faults.tell(wrong)
            self._answer(request.number, *self._closed(request, recording, error))

    def _closed(
        self, request: Request, recording: Recording | None, error: BaseException | None
    ) -> tuple[str | None, int]:
        """Close a recording. Returns why it is not one, and the number of its steps."""
        if self._session.faults.is_off:
            return write_fault(self._session, recording), 0
        if recording is None:
            shutil.rmtree(request.run, ignore_errors=True)
            return self._why_no_step(), 0
        close_recording(self._session, recording, error)
        return None, recording.recorder.next_step

    def _why_no_step(self) -> str:
        done = self._session.num_idle_steps
        before = f"it did {done} before" if done else "nor did it do one before"
        return f"The program did no training step meanwhile; {before}"

    def _answer(self, number: int, why_not: str | None, num_steps: int = 0) -> None:
        from strategy_profiles.run.events import CommandAnswered

        self._log.write(
            CommandAnswered(
                number,
                "record",
                "applied" if why_not is None else "rejected",
                num_steps,
                why_not,
            )
        )


def _worker_of_cluster() -> int:
    """The number of this process in its cluster; 0 without one."""
    if not os.environ.get("TF_CONFIG") or "tensorflow" not in sys.modules:
        return 0
    from strategy_core.recorder.program import worker_number

    return worker_number()
