"""One run from its launch to its end: its worker, the commands to it, and a fresh one's arrival.

One thread per run does everything; the methods only leave a message for it, so nobody who presses
a button ever waits. A change that needs other devices is made with both workers alive: the old one
keeps its state and waits until the fresh one has done a step, so a fresh worker that cannot open
costs a pause and nothing else.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from profiles.errors import LabError, RunFolderError
from profiles.event_log import EventLog
from profiles.events import Event, Exited, Launched, Note
from profiles.layout import LAUNCHER_EVENTS, worker_folder
from profiles.spec import RunSpec
from profiles.status import State
from strategy_core.processes import protocol
from strategy_core.processes.verdict import Verdict
from strategy_core.processes.watched_worker import WatchedWorker
from strategy_core.processes.worker_process import Message, WorkerProcess

StartWorker = Callable[[], tuple[WorkerProcess, bool]]
"""Gives a worker process, and whether it is the spare one."""

POLL_S = 0.1
STOP_GRACE_S = 20.0
"""So long may a worker take from Stop to its end: a step, and the last capture's conversion."""
LEAVE_GRACE_S = 10.0
"""So long may a replaced worker take to convert its last capture."""
IMPORT_TIMEOUT_S = 120.0
_STATES: dict[str, State] = {"finished": "finished", "stopped": "stopped"}


class RunHandle:
    """A launched run. Methods may be called from any thread and return at once, `wait` excepted."""

    def __init__(
        self,
        spec: RunSpec,
        folder: Path,
        start_worker: StartWorker,
        *,
        on_progress: Callable[[], None] = lambda: None,
        stop_grace_s: float = STOP_GRACE_S,
    ) -> None:
        self.spec = spec
        self.folder = folder
        self.verdict: Verdict | None = None
        """How it ended; None while it runs."""
        self.exit_code: int | None = None
        """Of the last worker."""
        self.failure_detail = ""
        """What stands behind a failure, for the curious."""
        self._start_worker = start_worker
        self._on_progress = on_progress
        self._stop_grace_s = stop_grace_s
        self._log = EventLog(folder / LAUNCHER_EVENTS)
        self._inbox: queue.Queue[tuple[WatchedWorker | None, Any]] = queue.Queue()
        self._numbers = itertools.count(1)
        self._stop_by: float | None = None
        self._candidate: WatchedWorker | None = None
        self._leaving: WatchedWorker | None = None
        self._leave_by = 0.0
        self._held: list[protocol.Command] = []
        self._had_step = False
        self._over = threading.Event()
        self._worker = self._start(0, spec.to_json())
        self._record_launch(self._worker)
        threading.Thread(target=self._watch, name=f"run {folder.name}", daemon=True).start()

    @property
    def status(self) -> State:
        """`running`, then `finished`, `stopped` or `failed`."""
        return "running" if self.verdict is None else _STATES.get(self.verdict.verdict, "failed")

    @property
    def message(self) -> str | None:
        """Why it ended as it did, for people."""
        return self.verdict.message if self.verdict else None

    @property
    def step(self) -> int | None:
        """The last step known to be done."""
        return self._worker.step

    @property
    def pids(self) -> tuple[int, ...]:
        """Processes that work for this run now."""
        workers = (self._worker, self._candidate, self._leaving)
        return tuple(w.process.pid for w in workers if w and w.process.poll() is None)

    def reconfigure(self, changes: Mapping[str, Any]) -> int:
        """Ask for a change at the next step; the `answer` event with this number tells the rest."""
        return self.send(protocol.Reconfigure(next(self._numbers), dict(changes)))

    def stop(self) -> int:
        """Ask for the end at the next step; by force where it takes longer than the grace time."""
        return self.send(protocol.Stop(next(self._numbers)))

    def send(self, command: protocol.Command) -> int:
        """Send a command; returns its number."""
        self._inbox.put((None, command))
        return command.number

    def kill(self) -> None:
        """End it by force, now."""
        self._inbox.put((None, "kill"))

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the run; False where it did not come in time."""
        return self._over.wait(timeout_s)

    def _start(
        self, generation: int, spec: dict[str, Any], asked: protocol.Replacement | None = None
    ) -> WatchedWorker:
        process, from_spare = self._start_worker()
        folder = worker_folder(self.folder, 0, generation)
        worker = WatchedWorker(process, folder, from_spare, time.monotonic())
        process.listen(lambda message: self._inbox.put((worker, message)))
        process.send(
            protocol.Run(
                next(self._numbers),
                str(self.folder.resolve()),
                0,
                generation,
                spec,
                asked.checkpoint if asked else None,
                asdict(asked) if asked else None,
            )
        )
        return worker

    def _watch(self) -> None:
        """The run's thread."""
        try:
            while self.verdict is None:
                with contextlib.suppress(queue.Empty):
                    self._take(*self._inbox.get(timeout=POLL_S))
                self._look(time.monotonic())
        except Exception as error:
            self.verdict = Verdict("failed", f"The launcher lost this run: {error!r}")
            raise
        finally:
            for worker in filter(None, (self._worker, self._candidate, self._leaving)):
                worker.process.kill()
                worker.process.wait(LEAVE_GRACE_S)
            self._log.close()
            self._over.set()
            self._on_progress()

    def _take(self, sender: WatchedWorker | None, message: Any) -> None:
        """Act on one message: from a caller (`sender` is None) or from a worker."""
        if sender is None:
            self._take_command(message)
        elif sender is self._worker:
            self._take_from_worker(message)
        elif sender is self._candidate:
            self._take_from_candidate(message)
        elif sender is self._leaving and "gone" in message:
            self._leaving = None
            self._record_exit(sender, sender.verdict())

    def _take_command(self, command: protocol.Command | str) -> None:
        if command == "kill":
            self._worker.kill("asked")
        elif isinstance(command, protocol.Stop):
            if self._stop_by is None:
                self._stop_by = time.monotonic() + self._stop_grace_s
            self._worker.process.send(command)
        elif not isinstance(command, str):
            if self._candidate is None:
                self._worker.process.send(command)
            else:
                self._held.append(command)  # for whoever goes on

    def _take_from_worker(self, message: Message) -> None:
        if "failed" in message:
            self._worker.failed = message["failed"]
        elif "replace" in message:
            self._call_fresh_worker(protocol.Replacement(**message["replace"]))
        elif "gone" in message:
            self._settle()

    def _take_from_candidate(self, message: Message) -> None:
        assert self._candidate is not None
        if "failed" in message:
            self._candidate.failed = message["failed"]
        elif "opened" in message:
            self._hand_over(self._candidate)
        elif "gone" in message:
            self._candidate.observe(time.monotonic())
            self._dismiss(self._candidate)

    def _call_fresh_worker(self, asked: protocol.Replacement) -> None:
        try:
            self._candidate = self._start(self._worker.folder.generation + 1, asked.spec, asked)
        except (OSError, LabError) as error:
            self._worker.process.send(protocol.Resume(next(self._numbers), str(error)))

    def _hand_over(self, fresh: WatchedWorker) -> None:
        """The fresh worker has done a step: the old one leaves."""
        old, self._candidate = self._worker, None
        self._record_launch(fresh)
        old.replaced = True
        old.process.send(protocol.Leave(next(self._numbers)))
        self._leaving, self._leave_by = old, time.monotonic() + LEAVE_GRACE_S
        self._worker = fresh
        if self._stop_by is not None:
            fresh.process.send(protocol.Stop(next(self._numbers)))  # the old one may have it
        self._release_held()
        self._on_progress()

    def _dismiss(self, fresh: WatchedWorker) -> None:
        """The fresh worker ended before its first step: the old one goes on."""
        self._candidate = None
        message = fresh.verdict().message or "The fresh worker ended before its first step."
        kept = self.folder / f"rejected-{fresh.folder.path.name}-{next(self._numbers)}"
        with contextlib.suppress(OSError):
            shutil.move(fresh.folder.path, kept)
        what = "A fresh worker could not take over; its records are kept apart"
        self._write(Note("warning", what, {"folder": kept.name, "message": message}))
        self._worker.last_sign = time.monotonic()
        self._worker.process.send(protocol.Resume(next(self._numbers), message))
        self._release_held()
        self._on_progress()

    def _release_held(self) -> None:
        held, self._held = self._held, []
        for command in held:
            self._worker.process.send(command)

    def _look(self, now: float) -> None:
        """Read new events; end what hangs."""
        if self.verdict is not None:
            return
        self._worker.observe(now)
        if not self._had_step and self._worker.step is not None:
            self._had_step = True
            self._on_progress()
        if self._candidate is not None:
            self._candidate.observe(now)
            self._worker.last_sign = now  # it waits, as it should
        for worker in filter(None, (self._worker, self._candidate)):
            self._end_if_hung(worker, now)
        self._end_if_late(now)

    def _end_if_hung(self, worker: WatchedWorker, now: float) -> None:
        timeout_s = (self._worker.spec or {}).get("hang_timeout_s", self.spec.hang_timeout_s)
        if worker.process.ready is None:
            timeout_s = max(timeout_s, IMPORT_TIMEOUT_S)
        why = worker.why_hung(now, timeout_s)
        if why is not None and worker.killed_for is None:
            worker.kill("hung", why)

    def _end_if_late(self, now: float) -> None:
        """End a worker that should have left by now."""
        if self._leaving is not None and now > self._leave_by:
            self._leaving.process.kill()
        if self._worker.finished is not None and self._stop_by is None:
            # Its books are closed: what is it waiting for?
            self._stop_by = now + self._stop_grace_s
        if self._stop_by is not None and now > self._stop_by:
            note = f"Stop was asked, but no step ended within {self._stop_grace_s:.0f} s."
            self._worker.kill("impatient", note)

    def _settle(self) -> None:
        """The worker is gone, and with it the run."""
        self._worker.observe(time.monotonic())
        verdict = self._worker.verdict()
        self.exit_code = self._worker.process.poll()
        failed = self._worker.failed or {}
        if verdict.verdict not in _STATES:
            self.failure_detail = str(failed.get("detail") or self._worker.process.said())
        if self._candidate is not None:
            self._candidate.kill("asked")
        self._record_exit(self._worker, verdict)
        self.verdict = verdict

    def _record_launch(self, worker: WatchedWorker) -> None:
        process, folder = worker.process, worker.folder
        self._write(
            Launched(
                folder.worker,
                folder.generation,
                process.pid,
                process.started_ns,
                worker.from_spare,
            )
        )

    def _record_exit(self, worker: WatchedWorker, verdict: Verdict) -> None:
        folder, code = worker.folder, worker.process.poll()
        self._write(
            Exited(folder.worker, folder.generation, code, verdict.verdict, verdict.message)
        )

    def _write(self, event: Event) -> None:
        with contextlib.suppress(RunFolderError):  # a full disk: the worker's story says so
            self._log.write(event)
