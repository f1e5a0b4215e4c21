"""The worker processes of a launcher: new ones, and a spare one with TensorFlow imported.

With a spare worker, all after the first are forked from one process that has imported TensorFlow.
So are all workers of a launcher that `does_fork`. Spare workers, the processes of a cluster and a
change that needs fresh ones then wait for no import.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Literal

from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.planning.inventory import Inventory
from strategy_core.processes.spawner import Spawner
from strategy_core.processes.worker_process import WorkerProcess
from strategy_profiles.errors import LabError

_LOOK_EVERY_S = 0.02
_IMPORT_S = 120.0
"""Limit for a fork server's import; a worker is executed after it."""

SpareState = Literal["none", "starting", "ready"]


class WorkerPool:
    """Its methods may be called from any thread."""

    def __init__(
        self, command: Sequence[str], *, has_spare: bool, nice: int, does_fork: bool = False
    ) -> None:
        """`does_fork`: have the first worker forked, too, and wait for the import it needs."""
        self._has_spare = has_spare
        self._does_fork = does_fork
        self._spawner = Spawner(command, nice=nice)
        self._lock = threading.Lock()
        self._spare: WorkerProcess | None = None
        self._inventory: Inventory | None = None
        self._is_closed = False
        self._num_holds = 0
        self._has_had_spare = self._is_importing = False
        self.refill()

    @property
    def spare_state(self) -> SpareState:
        """Whether the next run would have to wait for TensorFlow's import."""
        spare = self._spare
        if spare is None or spare.poll() is not None:
            return "starting" if self._is_importing else "none"
        return "ready" if spare.ready else "starting"

    def inventory(self) -> Inventory | None:
        """The devices that the spare worker found on this machine; None until it has."""
        spare = self._spare
        if spare is not None and spare.ready:
            self._inventory = Inventory.from_json(spare.ready["inventory"])
        return self._inventory

    def wait_for_spare(self, timeout_s: float) -> bool:
        """Wait until the spare worker is ready; returns whether it is."""
        deadline = time.monotonic() + timeout_s
        while self._may_get_spare and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
        spare, left_s = self._spare, max(0.0, deadline - time.monotonic())
        return spare is not None and spare.said_ready.wait(left_s) and spare.ready is not None

    def take(self, namespaces: Sequence[int] = ()) -> tuple[WorkerProcess, bool]:
        """A worker process, and whether it is the spare one (ready or importing TensorFlow).

        A process in a network of its own is always a new one: it has to enter its namespaces
        before TensorFlow starts threads. Raises LabError when the launcher is closed.
        """
        self._await_forks()
        with self._lock:
            if self._is_closed:
                raise LabError("This launcher is closed and starts no more workers")
            self.inventory()
            if namespaces:
                return self._spawner.spawn(namespaces), False
            spare, self._spare = self._spare, None
        if spare is not None and spare.poll() is None:
            return spare, True
        return self._spawner.spawn(), False

    def _await_forks(self) -> None:
        """Before one of many runs: wait for the one import that the others then do not need."""
        with self._lock:
            has_spare = self._spare is not None and self._spare.poll() is None
            is_one_of_many = self._does_fork or self._num_holds > 0
            if self._is_closed or has_spare or not is_one_of_many:
                return
            self._spawner.prepare_forks()
        self._spawner.wait_for_forks(_IMPORT_S)

    def refill(self) -> None:
        """Start a spare worker if it is missing. Not while a run starts: both imports would take
        longer.

        In place of the second one, a process is started that imports TensorFlow once more, and
        from which this one and all later ones are forked.
        """
        with self._lock:
            if self._is_closed or not self._has_spare or self._num_holds:
                return
            if self._spare is not None and self._spare.poll() is None:
                return
            self._is_importing = self._has_had_spare and self._spawner.prepare_forks(self.refill)
            if not self._is_importing:
                self._has_had_spare = True
                self._spare = self._spawner.spawn()

    @contextlib.contextmanager
    def without_spare(self) -> Iterator[None]:
        """Start no spare worker meanwhile: it would slow the steps of short runs."""
        with self._lock:
            self._num_holds += 1
        try:
            yield
        finally:
            with self._lock:
                self._num_holds -= 1
            self.refill()

    def stop_starting(self) -> None:
        """From here on `take` raises, and `refill` does nothing."""
        with self._lock:
            self._is_closed = True

    def close(self) -> None:
        """End the spare worker, and with the starting thread every process that it started."""
        self.stop_starting()
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.kill()
            spare.wait(5)
        self._spawner.close()

    @property
    def _may_get_spare(self) -> bool:
        has_spare = self._has_spare and not self._num_holds
        return self._spare is None and has_spare and not self._is_closed


WITHOUT_CAPTURE_S = 10.0
"""Delay of the spare worker after a run's first step if there is no capture."""


class SpareTiming:
    """Decides when to start the next spare worker. Used by one thread, which passes the time.

    The imports of a spare worker use a core for seconds. Started at a run's first step, they made
    the graph, the first capture and its conversion several times as long on a busy machine.
    """

    def __init__(self) -> None:
        self._first_step_at: float | None = None
        self._is_over = False

    def is_due(self, leader: WorkerMonitor, now: float) -> bool:
        """Return whether to start the spare worker now. Returns True once per run."""
        if self._is_over or leader.step is None:
            return False
        if self._first_step_at is None:
            self._first_step_at = now
        self._is_over = leader.has_capture or now - self._first_step_at > WITHOUT_CAPTURE_S
        return self._is_over
