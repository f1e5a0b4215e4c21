"""One run from its launch to its end: its group, the commands to it, and a fresh one's arrival.

One thread per run does everything; the methods only leave a message for it, so nobody who presses
a button ever waits. A change that needs other processes is made with both process groups alive: the
old one keeps its state and waits until the fresh one has done a step, so a fresh group that cannot
open costs a pause and nothing else.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from strategy_core.cluster.tasks import Cluster
from strategy_core.launcher.launch_log import LaunchLog
from strategy_core.launcher.process_group import ProcessGroup, start_group
from strategy_core.launcher.restart_policy import may_restart, note_of
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.processes import protocol
from strategy_core.processes.exit_reason import ExitReason
from strategy_core.processes.namespace_handle import NamespaceHandle
from strategy_core.processes.worker_process import Message, WorkerProcess
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.run.events import Note
from strategy_lab.profiles.run.layout import worker_folder
from strategy_lab.profiles.run.status import State
from strategy_lab.profiles.spec.run_spec import RunSpec, parse_spec

StartWorker = Callable[[NamespaceHandle | None], tuple[WorkerProcess, bool]]
"""Gives a worker process, in a network where one is given, and whether it is the spare one."""

POLL_S = 0.1
STOP_GRACE_S = 20.0
"""So long may a worker take from Stop to its end: a step, and the last capture's conversion."""
LEAVE_GRACE_S = 10.0
"""So long may a replaced worker take to convert its last capture."""
VIEW_WITHIN_S = 10.0
"""So long after its first step a run counts as under way, with or without a first capture."""
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
        launch_log: LaunchLog | None = None,
        numbers_from: int = 1,
    ) -> None:
        self.spec = spec
        self.folder = folder
        self.verdict: ExitReason | None = None
        """How it ended; None while it runs."""
        self.exit_code: int | None = None
        """Of the worker that its end is told by."""
        self.failure_detail = ""
        """What stands behind a failure, for the curious."""
        self._start_worker = start_worker
        self._on_progress = on_progress
        self._stop_grace_s = stop_grace_s
        self._log = launch_log or LaunchLog(folder)
        self._inbox: queue.Queue[tuple[WorkerMonitor | None, Any]] = queue.Queue()
        self._numbers = itertools.count(numbers_from)
        self._stop_by: float | None = None
        self._candidate: ProcessGroup | None = None
        self._leaving: ProcessGroup | None = None
        self._leave_by = 0.0
        self._held: list[protocol.Command] = []
        self._first_step_at: float | None = None
        self._is_under_way = False
        self._restarts_left = spec.cluster.restarts
        self._comebacks: Counter[int] = Counter()
        self._over = threading.Event()
        self._group = self._start(0, spec, None)
        self._log.launched(self._group)
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
        return self._group.leader.step

    @property
    def pids(self) -> tuple[int, ...]:
        """Processes that work for this run now."""
        return tuple(pid for group in self._groups() for pid in group.pids)

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

    def kill_process(self, number: int) -> None:
        """Kill one process of a cluster, to see what the others do."""
        self._inbox.put((None, number))

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the run; False where it did not come in time."""
        return self._over.wait(timeout_s)

    def _groups(self) -> list[ProcessGroup]:
        return [group for group in (self._group, self._candidate, self._leaving) if group]

    def _start(
        self,
        generation: int,
        spec: RunSpec,
        checkpoint: str | None,
        asked: protocol.Replacement | None = None,
    ) -> ProcessGroup:
        def start_member(
            process: int, cluster: Cluster | None, entrance: NamespaceHandle | None
        ) -> WorkerMonitor:
            command = protocol.Run(
                next(self._numbers),
                str(self.folder.resolve()),
                process,
                generation,
                spec.to_json(),
                checkpoint,
                asdict(asked) if asked else None,
                cluster.to_json() if cluster else None,
            )
            return self._start_member(command, entrance)

        return start_group(spec, start_member)

    def _start_member(
        self, command: protocol.Run, entrance: NamespaceHandle | None = None
    ) -> WorkerMonitor:
        process, from_spare = self._start_worker(entrance)
        folder = worker_folder(self.folder, command.worker, command.generation)
        worker = WorkerMonitor(process, folder, from_spare, time.monotonic(), command)
        process.listen(lambda message: self._inbox.put((worker, message)))
        process.send(command)
        return worker

    def _watch(self) -> None:
        """The run's thread."""
        try:
            while self.verdict is None:
                with contextlib.suppress(queue.Empty):
                    self._take(*self._inbox.get(timeout=POLL_S))
                self._look(time.monotonic())
        except Exception as error:
            self.verdict = ExitReason("failed", f"The launcher lost this run: {error!r}")
            raise
        finally:
            for group in self._groups():
                group.end(LEAVE_GRACE_S)
            self._log.close()
            self._over.set()
            self._on_progress()

    def _take(self, sender: WorkerMonitor | None, message: Any) -> None:
        """Act on one message: from a caller (`sender` is None) or from a worker."""
        if sender is None:
            self._take_command(message)
            return
        group = next((group for group in self._groups() if sender in group.members), None)
        if group is None:
            return
        group.take(sender, message, time.monotonic())
        if "gone" in message and (
            self._start_again(group, sender) or self._bring_back(group, sender)
        ):
            return
        if group is self._group:
            self._take_from_group(message)
        elif group is self._candidate:
            self._take_from_candidate(message)
        elif group is self._leaving and group.is_gone:
            self._leaving = None
            self._log.exited(group)

    def _take_command(self, command: protocol.Command | str | int) -> None:
        if command == "kill":
            self._group.kill("asked")
        elif isinstance(command, int):
            for member in self._group.members:
                if member.folder.worker == command:
                    member.asked_to_die_at = time.monotonic()
                    member.kill("asked")
        elif isinstance(command, protocol.Stop):
            if self._stop_by is None:
                self._stop_by = time.monotonic() + self._stop_grace_s
            self._group.send(command)
        elif not isinstance(command, str):
            if self._candidate is None:
                self._group.send(command)
            else:
                self._held.append(command)  # for whoever goes on

    def _take_from_group(self, message: Message) -> None:
        if "opened" in message:
            self._group.opened()
        elif "replace" in message:
            self._call_fresh_group(protocol.Replacement(**message["replace"]))
        elif "done" in message and self._group.is_done:
            self._group.let_latecomers_go()
            self._group.send(protocol.Leave(next(self._numbers)))
        elif "gone" in message and self._group.is_gone:
            self._settle()

    def _take_from_candidate(self, message: Message) -> None:
        assert self._candidate is not None
        if "opened" in message:
            self._hand_over(self._candidate)
        elif "gone" in message and self._candidate.is_gone:
            self._dismiss(self._candidate)

    def _start_again(self, group: ProcessGroup, lost: WorkerMonitor) -> bool:
        """Put a fresh process in the place of a spare one that was dead before it began."""
        if group.is_ending or not lost.from_spare or lost.has_begun or lost.killed_for is not None:
            return False
        assert lost.command is not None
        group.replace(lost, self._start_member(lost.command))
        if group is not self._candidate:
            self._log.launched(group)
        return True

    def _bring_back(self, group: ProcessGroup, lost: WorkerMonitor) -> bool:
        """Put a fresh process in the place of a lost one that the others can do without."""
        number = lost.folder.worker
        if group is not self._group or not may_restart(group, lost, self._comebacks[number]):
            return False
        assert lost.command is not None
        generation = max(c.generation for c in self._groups()) + 1
        network = group.network
        try:
            fresh = self._start_member(
                replace(lost.command, generation=generation),
                network.entrances[number] if network else None,
            )
        except (OSError, LabError):
            return False
        self._comebacks[number] += 1
        self._log.exited_one(group, lost)
        self._log.write(note_of(group, lost))
        group.replace(lost, fresh)
        self._log.launched_one(group, fresh)
        return True

    def _call_fresh_group(self, asked: protocol.Replacement) -> None:
        generation = self._group.generation + 1
        try:
            spec = parse_spec(asked.spec)
            self._candidate = self._start(generation, spec, asked.checkpoint, asked)
        except (OSError, LabError) as error:
            self._group.send(protocol.Resume(next(self._numbers), str(error)))

    def _hand_over(self, fresh: ProcessGroup) -> None:
        """The fresh group has done a step: the old one leaves."""
        old, self._candidate = self._group, None
        fresh.opened()
        self._log.launched(fresh)
        for member in old.members:
            member.replaced = True
        old.send(protocol.Leave(next(self._numbers)))
        self._leaving, self._leave_by = old, time.monotonic() + LEAVE_GRACE_S
        self._group = fresh
        if self._stop_by is not None:
            fresh.send(protocol.Stop(next(self._numbers)))  # the old one may have it
        self._release_held()
        self._on_progress()

    def _dismiss(self, fresh: ProcessGroup) -> None:
        """The fresh group ended before its first step: the old one goes on."""
        self._candidate = None
        fresh.end(LEAVE_GRACE_S)
        message = fresh.verdict(fresh.culprit()).message
        message = message or "The new worker ended before its first step."
        for member in fresh.members:
            kept = self.folder / f"rejected-{member.folder.path.name}-{next(self._numbers)}"
            with contextlib.suppress(OSError):
                shutil.move(member.folder.path, kept)
            what = "A new worker could not take over; its records are stored separately"
            self._log.write(Note("warning", what, {"folder": kept.name, "message": message}))
        for member in self._group.members:
            member.last_sign = time.monotonic()
        self._group.send(protocol.Resume(next(self._numbers), message))
        self._release_held()
        self._on_progress()

    def _release_held(self) -> None:
        held, self._held = self._held, []
        for command in held:
            self._group.send(command)

    def _look(self, now: float) -> None:
        """Read new events; end what hangs."""
        if self.verdict is not None:
            return
        self._group.observe(now)
        self._look_for_first_view(now)
        if self._candidate is not None:
            self._candidate.observe(now)
            for member in self._group.members:
                member.last_sign = now  # it waits, as it should
        for group in filter(None, (self._group, self._candidate)):
            timeout_s = (self._group.leader.spec or {}).get(
                "hang_timeout_s", self.spec.hang_timeout_s
            )
            group.end_if_hung(now, timeout_s)
            group.end_if_lost(now)
        self._end_if_late(now)

    def _look_for_first_view(self, now: float) -> None:
        """Tell the launcher once that the run is under way.

        It starts a spare worker then, whose imports use a core for seconds. At the first step that
        core is wanted by the graph, the capture and its conversion: on a busy machine they took
        several times as long beside it.
        """
        if self._is_under_way or self._group.leader.step is None:
            return
        if self._first_step_at is None:
            self._first_step_at = now
        if self._group.leader.has_view or now - self._first_step_at > VIEW_WITHIN_S:
            self._is_under_way = True
            self._on_progress()

    def _end_if_late(self, now: float) -> None:
        """End a group that should have left by now."""
        if self._leaving is not None and now > self._leave_by:
            self._leaving.kill("impatient")
        if self._group.leader.finished is not None and self._stop_by is None:
            # Its books are closed: what is it waiting for?
            self._stop_by = now + self._stop_grace_s
        if self._stop_by is None:
            return
        why = self._group.leader.why_late(now, self._stop_by, self._stop_grace_s)
        if why is not None:
            self._group.kill("impatient", why)

    def _settle(self) -> None:
        """Everyone is gone, and the run with them, unless it may begin again."""
        self._group.observe(time.monotonic())
        told_by = self._group.culprit()
        verdict = self._group.verdict(told_by)
        if self._restart(verdict):
            return
        self.exit_code = told_by.process.poll()
        detail = told_by.failed.detail if told_by.failed else ""
        if verdict.verdict not in _STATES:
            self.failure_detail = detail or told_by.process.said()
        if self._candidate is not None:
            self._candidate.kill("asked")
        self._log.exited(self._group)
        self.verdict = verdict

    def _restart(self, verdict: ExitReason) -> bool:
        """Begin again from the last checkpoint with fresh processes, where the run may."""
        lost, path = self._group, self._last_checkpoint()
        was_lost = lost.trouble_at is not None and verdict.verdict not in _STATES
        if not was_lost or not self._restarts_left or self._stop_by or path is None:
            return False
        self._restarts_left -= 1
        spec = parse_spec(lost.leader.spec) if lost.leader.spec else self.spec
        try:
            fresh = self._start(lost.generation + 1, spec, str(path))
        except (OSError, LabError):
            return False
        self._log.exited(lost)  # which tells why
        again = "The run restarts from its last checkpoint."
        self._log.write(Note("warning", again, {"checkpoint": str(path)}))
        if self._candidate is not None:
            self._candidate.end(LEAVE_GRACE_S)
            self._candidate = None
        self._group = fresh
        self._log.launched(fresh)
        return True

    def _last_checkpoint(self) -> Path | None:
        """The newest one that a leader of this run left."""
        for generation in range(self._group.leader.folder.generation, -1, -1):
            path = worker_folder(self.folder, 0, generation).checkpoint
            if path.is_dir():
                return path
        return None
