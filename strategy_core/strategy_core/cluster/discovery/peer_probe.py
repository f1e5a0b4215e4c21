"""Probes the ports of a cluster's tasks to report which peers are missing.

TensorFlow's constructors wait for a missing task for ever, and hold Python's lock while they do.
But a task that has reached its constructor listens at its address, even if others are missing. So a
TCP connection that is closed at once shows that it has started. `PeerProbe` interprets the answers
and takes the time as an argument.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor

from strategy_core.cluster.discovery.task_address import OwnTask, split_address
from strategy_core.cluster.tasks import Task
from strategy_core.processes.timeouts import BUILDING_FACTOR
from strategy_profiles.errors import LabError

PROBE_EVERY_S = 0.5
_ANSWER_WITHIN_S = 1.0
_GONE_AFTER = 4
"""A task that misses this many probes in a row has left; fewer can mean that it is busy."""


class PeerProbe:
    """Interprets the answers of a cluster's ports for the task `own_task`."""

    def __init__(self, own_task: OwnTask, timeout_s: float, now: float) -> None:
        self._tasks = own_task.cluster.tasks
        self._own = own_task.process
        self._timeout_s = timeout_s
        self._deadline = now + timeout_s
        self._seen: set[int] = {own_task.process}
        self._unanswered = 0

    def note(self, present: Collection[int]) -> None:
        """Record which processes answered a probe."""
        self._seen.update(present)
        self._unanswered = 0 if 0 in present else self._unanswered + 1

    @property
    def unanswered(self) -> list[int]:
        """The processes that have not answered yet."""
        return [process for process in range(len(self._tasks)) if process not in self._seen]

    @property
    def missing(self) -> str:
        """The tasks that have not answered yet, as text."""
        return " and ".join(_task_text(self._tasks[process]) for process in self.unanswered)

    @property
    def has_leader_come(self) -> bool:
        """Whether process 0 has ever answered."""
        return 0 in self._seen

    @property
    def has_leader_left(self) -> bool:
        """Whether process 0 has answered before and no longer does."""
        return 0 in self._seen and self._own != 0 and self._unanswered >= _GONE_AFTER

    def too_late(self, now: float) -> str | None:
        """Why the wait ends; None while it goes on."""
        if now < self._deadline:
            return None
        if self.unanswered:
            return f"waited {self._timeout_s:.0f} s for {self.missing} without success."
        return (
            f"every task of the cluster answers, but TensorFlow did not bring them together within "
            f"{self._timeout_s:.0f} s. Do all of them have the same TensorFlow and the same spec, "
            f"and do the others reach {_task_text(self._tasks[self._own])} at that address?"
        )


class ProbeTimeouts:
    """Limits the wait for peers on other hosts that have connected and are computing.

    Each peer is watched by its own host, which allows it `BUILDING_FACTOR` times the limit between
    two events while it computes. So other workers wait a little longer than that.
    """

    def __init__(self, own_task: OwnTask) -> None:
        peers = [task for n, task in enumerate(own_task.cluster.tasks) if n != own_task.process]
        self._peers = " or ".join(_task_text(task) for task in peers)

    def too_late(self, since: float | None, now: float, hang_timeout_s: float) -> str | None:
        """Why the wait ends; None while it goes on, or without a peer to wait for."""
        if since is None or now - since < (BUILDING_FACTOR + 1) * hang_timeout_s:
            return None
        return (
            f"waited {now - since:.0f} s without success for {self._peers}, which had "
            "connected, to do its part of a step."
        )

    def sentence(self, since: float, now: float) -> str:
        """What the process waits for, as the page shows it."""
        return f"for {now - since:.0f} s waiting for {self._peers} to do its part of a step"


class PeerProber:
    """Probes the ports of a cluster from a thread of its own, until `dismiss`.

    Its properties are those of `PeerProbe`, safe for use by other threads.
    """

    def __init__(self, own_task: OwnTask, probe: PeerProbe) -> None:
        self._own_task = own_task
        self._probe = probe
        self._lock = threading.Lock()
        self._dismissed = threading.Event()
        threading.Thread(target=self._run, name="peer-prober", daemon=True).start()

    @property
    def missing(self) -> str:
        with self._lock:
            return self._probe.missing

    @property
    def has_leader_come(self) -> bool:
        with self._lock:
            return self._probe.has_leader_come

    @property
    def has_leader_left(self) -> bool:
        with self._lock:
            return self._probe.has_leader_left

    def too_late(self, now: float) -> str | None:
        with self._lock:
            return self._probe.too_late(now)

    def dismiss(self) -> None:
        self._dismissed.set()

    def _run(self) -> None:
        while not self._dismissed.is_set():
            with self._lock:
                wanted = {0, *self._probe.unanswered} - {self._own_task.process}
            # Without the lock: each silent task takes `_ANSWER_WITHIN_S`, and other threads read
            # the properties meanwhile.
            answering = {n for n in wanted if answers(self._own_task.cluster.tasks[n].address)}
            with self._lock:
                self._probe.note(answering)
            self._dismissed.wait(PROBE_EVERY_S)


def answers(address: str) -> bool:
    """Whether a server listens at `host:port`."""
    try:
        with socket.create_connection(split_address(address), _ANSWER_WITHIN_S):
            return True
    except OSError:  # refused, unreachable, silent, or an unknown name
        return False


def silent_peers(own_task: OwnTask, *, answers: Callable[[str], bool] = answers) -> str:
    """The other tasks of a cluster whose ports do not answer, as text; may be empty."""
    peers = [task for n, task in enumerate(own_task.cluster.tasks) if n != own_task.process]
    with ThreadPoolExecutor(len(peers) or 1) as threads:
        are_there = list(threads.map(lambda task: answers(task.address), peers))
    gone = [
        _task_text(task) for task, is_there in zip(peers, are_there, strict=True) if not is_there
    ]
    return " and ".join(gone)


def check_own_port(own_task: OwnTask) -> None:
    """Raise LabError if this task's port is in use, so that its server could not start."""
    _, port = split_address(own_task.task.address)
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise LabError(
                f"The server of {own_task.task.title} cannot listen on port {port} of this "
                f"host: {error.strerror or error}",
                advice="End the process that uses it, or change the port in every description of "
                "the cluster",
            ) from None


def wait_for_names(
    own_task: OwnTask,
    timeout_s: float,
    *,
    is_known: Callable[[str], bool] | None = None,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the host names of all tasks resolve: a pod's name appears with the pod.

    Raises LabError if some do not within `timeout_s`.
    """
    known = is_known or _has_address
    until = clock() + timeout_s
    unknown = list(own_task.cluster.tasks)
    while True:
        unknown = [task for task in unknown if not known(task.address)]
        if not unknown:
            return
        if clock() >= until:
            names = " and ".join(_task_text(task) for task in unknown)
            raise LabError(
                f"No address was found within {timeout_s:.0f} s for {names}",
                advice="Check the host names of the cluster",
            )
        wait(PROBE_EVERY_S)


def _has_address(address: str) -> bool:
    try:
        return bool(socket.getaddrinfo(*split_address(address)))
    except OSError:
        return False


def _task_text(task: Task) -> str:
    return f"{task.title} ({task.address})"
