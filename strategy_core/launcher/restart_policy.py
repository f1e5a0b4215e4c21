"""Who may come back: a worker of parameter servers, lost while the others go on.

Its variables live elsewhere and its closure is done again by another one, so a fresh process at
the same address takes its place. Whoever holds what nobody else has (the coordinator, a parameter
server, any worker of a synchronous strategy) ends the run, or sends it back to a checkpoint.
"""

from __future__ import annotations

from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_lab.profiles.run.events import Note

MAX_COMEBACKS = 10
"""Of one worker: who is lost more often has something that a fresh process has, too."""


def may_restart(group: ProcessGroup, lost: WorkerMonitor, num_comebacks: int) -> bool:
    """Whether the run goes on without it, and waits for its return."""
    if group.cluster is None or lost.command is None or group.is_ending:
        return False
    is_worker = group.cluster.tasks[lost.folder.worker].role == "worker"
    is_needed = group.leader.finished is None and group.leader.lost_at is None
    # One that told itself why it cannot serve would tell it again.
    return (
        group.is_served
        and is_worker
        and is_needed
        and lost.failed is None
        and num_comebacks < MAX_COMEBACKS
    )


def note_of(group: ProcessGroup, lost: WorkerMonitor) -> Note:
    """What the run says of it, once a fresh process is on its way. Its own end is told before."""
    return Note(
        "warning",
        f"Training continues without {group.title(lost)} until a new process replaces it, "
        "which starts its part of the data from the beginning.",
        {"worker": lost.folder.worker, "generation": lost.folder.generation},
    )
