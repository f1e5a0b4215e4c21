"""Starts runs: a folder each, a worker process each, and a spare worker for the next one.

    with Launcher(spare=True) as launcher:
        handle = launcher.launch(spec, Path("runs/a"))
        handle.reconfigure({"devices": "cpu:2"})
        handle.wait()

The page and the command line start runs this way and no other. Nothing outlives the launcher:
see `strategy_core.processes.parent_death`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from strategy_core.cluster.discovery.peer_probe import check_own_port
from strategy_core.cluster.local_rank import local_rank_of
from strategy_core.launcher.claim import claim, claim_part
from strategy_core.launcher.multi_host_run import MultiHostRun, Part
from strategy_core.launcher.run_handle import STOP_GRACE_S, RunHandle
from strategy_core.planning import validation
from strategy_core.planning.gpu_allocation import Seat
from strategy_core.planning.inventory import Inventory
from strategy_core.processes.namespace_handle import NamespaceHandle
from strategy_core.processes.worker_process import WORKER_COMMAND, Spawner, WorkerProcess
from strategy_lab.profiles.errors import LabError, RunFolderError
from strategy_lab.profiles.run.layout import worker_folder
from strategy_lab.profiles.spec.run_spec import RunSpec

__all__ = ["Launcher", "RunHandle"]

_LOOK_EVERY_S = 0.02

SpareState = Literal["none", "starting", "ready"]


class Launcher:
    """Launches runs, one at a time unless told otherwise. Safe to use from many threads.

    `spare` keeps a worker waiting with TensorFlow imported; `nice` is how far workers step back
    behind this process; `max_active` is how many runs may share the machine.
    """

    def __init__(
        self,
        *,
        spare: bool = False,
        nice: int = 0,
        max_active: int = 1,
        stop_grace_s: float = STOP_GRACE_S,
        worker_command: Sequence[str] = WORKER_COMMAND,
    ) -> None:
        self._wants_spare = spare
        self._max_active = max_active
        self._stop_grace_s = stop_grace_s
        self._spawner = Spawner(worker_command, nice=nice)
        self._lock = threading.RLock()
        self._spare: WorkerProcess | None = None
        self._active: list[RunHandle] = []
        self._inventory: Inventory | None = None
        self._closed = False
        self._refill()

    @property
    def spare_state(self) -> SpareState:
        """Whether the next run would have to wait for TensorFlow's import."""
        spare = self._spare
        if spare is None or spare.poll() is not None:
            return "none"
        return "ready" if spare.ready else "starting"

    @property
    def active(self) -> tuple[RunHandle, ...]:
        """The runs that are not over."""
        with self._lock:
            self._active = [handle for handle in self._active if handle.verdict is None]
            return tuple(self._active)

    def inventory(self) -> Inventory | None:
        """The devices that the spare worker found on this machine; None until it has."""
        if self._spare is not None and self._spare.ready:
            self._inventory = Inventory.from_json(self._spare.ready["inventory"])
        return self._inventory

    def wait_for_spare(self, timeout_s: float) -> bool:
        """Wait until there is a spare worker, and it is ready; False where it is not by then."""
        deadline = time.monotonic() + timeout_s
        while self._may_get_spare and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
        spare, left_s = self._spare, max(0.0, deadline - time.monotonic())
        return spare is not None and spare.said_ready.wait(left_s) and spare.ready is not None

    @property
    def _may_get_spare(self) -> bool:
        return self._spare is None and self._wants_spare and not self._closed

    def launch(self, spec: RunSpec, run_folder: str | Path) -> RunHandle:
        """Start a run in a new folder; raises LabError where it cannot start.

        Returns at once: without a ready spare worker, the run's events begin seconds later.
        """
        folder = Path(run_folder)

        def start() -> RunHandle:
            claim(folder, spec)
            with _nothing_left_in(folder):
                return RunHandle(
                    spec,
                    folder,
                    self._take_worker,
                    on_progress=self._refill,
                    stop_grace_s=self._stop_grace_s,
                )

        return self._start(spec, folder, start)

    def join(self, part: Part, spec: RunSpec, run_folder: str | Path) -> RunHandle:
        """Start one process of a run whose others have launchers on their own hosts.

        The folder may be one that all hosts share, or one of this host's own. Raises LabError.
        """
        folder = Path(run_folder)

        def start() -> RunHandle:
            check_own_port(part.place)
            claim_part(folder, spec, part.place)
            with _nothing_left_in(worker_folder(folder, part.place.process).path):
                return MultiHostRun(
                    part,
                    spec,
                    folder,
                    self._take_worker,
                    on_progress=self._refill,
                    stop_grace_s=self._stop_grace_s,
                )

        place = part.place
        local_rank = local_rank_of(place.cluster, place.process, True, os.environ)
        return self._start(spec, folder, start, local_rank)

    def _start(
        self,
        spec: RunSpec,
        folder: Path,
        start: Callable[[], RunHandle],
        local_rank: Seat | None = None,
    ) -> RunHandle:
        with self._lock:
            if self._closed:
                raise LabError(f"This launcher is closed and starts no run in {folder}")
            self._check_vacancy()
            validation.check(spec, self.inventory(), local_rank)
            try:
                handle = start()
            except OSError as error:
                raise RunFolderError(f"No worker process could be started: {error}") from error
            self._active.append(handle)
            return handle

    def close(self) -> None:
        """End every run and the spare worker. What was recorded stays."""
        with self._lock:
            self._closed = True
            handles, spare = self.active, self._spare
            self._spare = None
        for handle in handles:
            handle.kill()
        for handle in handles:
            handle.wait(5)
        if spare is not None:
            spare.kill()
            spare.wait(5)
        self._spawner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check_vacancy(self) -> None:
        active = self.active
        if len(active) >= self._max_active:
            raise LabError(
                f"{active[0].folder} is still running, and at most {self._max_active} at a "
                "time may: runs that share a processor have meaningless times",
                advice="Stop it, or wait for its end",
            )

    def _take_worker(self, entrance: NamespaceHandle | None = None) -> tuple[WorkerProcess, bool]:
        """The spare worker where there is one (ready or about to be), else a new one.

        A network is entered before TensorFlow's threads are there: by a new worker only.
        """
        with self._lock:
            if self._closed:
                raise LabError("This launcher is closed and starts no more workers")
            self.inventory()
            if entrance is not None:
                return self._spawner.spawn(entrance), False
            spare, self._spare = self._spare, None
        if spare is not None and spare.poll() is None:
            return spare, True
        return self._spawner.spawn(), False

    def _refill(self) -> None:
        """Have a spare worker again. Not while a run starts: both would import for longer."""
        with self._lock:
            if self._closed or not self._wants_spare:
                return
            if self._spare is None or self._spare.poll() is not None:
                self._spare = self._spawner.spawn()


@contextlib.contextmanager
def _nothing_left_in(folder: Path) -> Iterator[None]:
    """A run that could not start leaves no folder behind."""
    try:
        yield
    except RunFolderError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RunFolderError(f"No worker process could be started: {error}") from error
    except (LabError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        raise
