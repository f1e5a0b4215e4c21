"""Restarts one process of a group while the others go on.

That is possible for a worker of parameter servers. Its variables are on the parameter servers, and
another worker repeats its closure, so a fresh process at the same address takes its place. Each
other process holds state that exists nowhere else (the coordinator, a parameter server, any worker
of a synchronous strategy): its loss ends the run, or restarts all processes from a checkpoint.
"""

from __future__ import annotations

from collections import Counter

from strategy_core.launcher.deployment import start_process
from strategy_core.launcher.inbox import Inbox
from strategy_core.launcher.launch_log import LaunchLog
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.launcher.worker_pool import WorkerPool
from strategy_core.launcher.worker_state import WorkerState
from strategy_profiles.errors import LabError
from strategy_profiles.run.events import Note

MAX_RESTARTS = 10
"""Limit for one worker: a cause that recurs this often would end a fresh process, too."""


class Restarts:
    """Restarts the processes of one run, on the run's thread."""

    def __init__(self, workers: WorkerPool, inbox: Inbox, log: LaunchLog) -> None:
        self._workers = workers
        self._inbox = inbox
        self._log = log
        self._num_restarts: Counter[int] = Counter()

    def replace_unused(self, group: ProcessGroup, lost: WorkerMonitor) -> bool:
        """Replace a spare worker that ended before it began. Returns whether it was replaced."""
        has_begun = lost.last_state is not WorkerState.STARTING
        if group.was_killed or not lost.from_spare or has_begun or lost.killed_for is not None:
            return False
        assert lost.start is not None
        group.replace(lost, start_process(lost.start, self._workers, self._inbox))
        return True

    def restart(self, group: ProcessGroup, lost: WorkerMonitor, generation: int) -> bool:
        """Replace a lost process if `may_restart`. Returns whether it was replaced."""
        number = lost.folder.worker
        if not may_restart(group, lost, self._num_restarts[number]):
            return False
        assert lost.start is not None
        start = lost.start.in_generation(generation)
        try:
            fresh = start_process(start, self._workers, self._inbox)
        except (OSError, LabError):
            return False
        self._num_restarts[number] += 1
        self._log.exited_one(group, lost)
        self._log.write(note_of(group, lost))
        group.replace(lost, fresh)
        self._log.launched_one(group, fresh)
        return True


def may_restart(group: ProcessGroup, lost: WorkerMonitor, num_restarts: int) -> bool:
    """Whether the run goes on without a lost process until a fresh one takes its place."""
    if group.cluster is None or group.was_killed:
        return False
    is_worker = group.cluster.tasks[lost.folder.worker].role == "worker"
    is_needed = group.leader.finished is None and group.leader.lost_at is None
    # A process that reported why it cannot serve would fail again.
    return (
        group.has_coordinator
        and is_worker
        and is_needed
        and lost.failed is None
        and num_restarts < MAX_RESTARTS
    )


def note_of(group: ProcessGroup, lost: WorkerMonitor) -> Note:
    """The note that a fresh process replaces `lost`. The event `exited` says why `lost` ended."""
    return Note(
        "warning",
        f"Training continues without {group.title(lost)} until a new process replaces it, "
        "which starts its part of the data from the beginning.",
        {"worker": lost.folder.worker, "generation": lost.folder.generation},
    )
