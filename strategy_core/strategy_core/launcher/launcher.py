"""Starts runs: a folder each, a worker process each, and a spare worker for the next one.

    with Launcher(spare=True) as launcher:
        handle = launcher.launch(spec, Path("runs/a"))
        handle.reconfigure({"devices": "cpu:2"})
        handle.wait()

The page and the command line start runs only this way. A worker outlives a launcher
that was killed for as long as it takes to save its state, and no other process does: see
`strategy_core.processes.parent_death`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from strategy_core.cluster.discovery.peer_probe import check_own_port, wait_for_names
from strategy_core.cluster.discovery.task_address import OwnTask
from strategy_core.cluster.local_rank import local_rank_of
from strategy_core.launcher import runs_lock
from strategy_core.launcher.claim import claim, claim_part
from strategy_core.launcher.deployment import Deployment
from strategy_core.launcher.multi_host_run import MultiHost, check_multi_host
from strategy_core.launcher.run_handle import STOP_GRACE_S, RunHandle
from strategy_core.launcher.worker_pool import SpareState, WorkerPool
from strategy_core.planning import validation
from strategy_core.planning.inventory import Inventory
from strategy_core.planning.validation import CheckedSpec
from strategy_core.processes.spawner import WORKER_COMMAND
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.spec.run_spec import RunSpec

__all__ = ["Launcher", "RunHandle"]
_LOOK_EVERY_S = 0.2


class Launcher:
    """Launches runs, one at a time by default. Safe to use from many threads.

    `spare` keeps a worker waiting with TensorFlow imported; `forks` imports it once for all runs,
    of which there will be many; `nice` lowers the priority of workers below this process;
    `max_active` is how many runs may share the machine.
    """

    def __init__(
        self,
        *,
        spare: bool = False,
        forks: bool = False,
        nice: int = 0,
        max_active: int = 1,
        stop_grace_s: float = STOP_GRACE_S,
        worker_command: Sequence[str] = WORKER_COMMAND,
    ) -> None:
        self._max_active = max_active
        self._stop_grace_s = stop_grace_s
        self._lock = threading.Lock()
        self._active: list[RunHandle] = []
        self._is_closed = False
        self._turn = contextlib.ExitStack()
        """Of the latest run: its right to train while no other does."""
        self._workers = WorkerPool(worker_command, has_spare=spare, nice=nice, does_fork=forks)

    @property
    def spare_state(self) -> SpareState:
        """Whether the next run would have to wait for TensorFlow's import."""
        return self._workers.spare_state

    @property
    def active(self) -> tuple[RunHandle, ...]:
        """The runs that are not over."""
        with self._lock:
            return self._still_active()

    def inventory(self) -> Inventory | None:
        """The devices that the spare worker found on this machine; None until it has."""
        return self._workers.inventory()

    def wait_for_spare(self, timeout_s: float) -> bool:
        """Wait until the spare worker is ready; returns whether it is."""
        return self._workers.wait_for_spare(timeout_s)

    def without_spare(self) -> contextlib.AbstractContextManager[None]:
        """Start no spare worker meanwhile: it would slow the steps of short runs."""
        return self._workers.without_spare()

    def launch(
        self,
        spec: RunSpec | CheckedSpec,
        run_folder: str | Path,
        checkpoint: Path | None = None,
    ) -> RunHandle:
        """Start a run in a new folder, from a checkpoint if one is given; raises LabError.

        Returns at once: without a ready spare worker, the run's events begin seconds later. The
        first one of a launcher that `forks` waits for the import.
        """
        folder = Path(run_folder)
        with self._starting(folder):
            checked = validation.check(spec, self.inventory()).spec
            self._take_turn(folder)
            with self._turn as taken:
                claim(folder, checked)
                self._turn = taken.pop_all()
            with _removed_on_error(folder):
                deployment = Deployment(self._turn)
                handle = RunHandle(
                    checked, folder, self._workers, deployment, self._stop_grace_s, checkpoint
                )
            self._active.append(handle)
            return handle

    def join(
        self,
        own_task: OwnTask,
        spec: RunSpec,
        run_folder: str | Path,
        checkpoint: Path | None = None,
        report: Callable[[str], None] = lambda _sentence: None,
    ) -> RunHandle:
        """Start one process of a run whose others have launchers on their own hosts.

        The folder may be one that all hosts share, or one of this host's own. The checkpoint, if
        one is given, is the same in all processes. `report` is called with sentences about the
        peers that the process waits for. Raises LabError.
        """
        folder = Path(run_folder)
        check_multi_host(spec)
        local_rank = local_rank_of(own_task.cluster, own_task.process, True, os.environ)
        validation.check(spec, self.inventory(), local_rank)
        wait_for_names(own_task, spec.cluster.start_timeout_s)
        with self._starting(folder):
            check_own_port(own_task)
            claim_part(folder, spec, own_task)
            with _removed_on_error(worker_folder(folder, own_task.process).path):
                deployment = MultiHost(own_task, spec, folder, report)
                handle = RunHandle(
                    spec, folder, self._workers, deployment, self._stop_grace_s, checkpoint
                )
            self._active.append(handle)
            return handle

    def stop_runs(self, why: str, give_up: Callable[[], bool] = lambda: False) -> None:
        """Start no more runs, stop those that are active, and wait until their state is saved.

        `why` is recorded as the reason for their end. `give_up` says whether to wait no longer.
        """
        for handle in (handles := self._end_starting()):
            handle.stop(why)
        for handle in handles:
            while not give_up() and not handle.wait(_LOOK_EVERY_S):
                pass

    def close(self) -> None:
        """End every run and the spare worker. What was recorded stays."""
        handles = self._end_starting()
        for handle in handles:
            handle.kill()
        for handle in handles:
            handle.wait(5)
        self._workers.close()

    def _end_starting(self) -> tuple[RunHandle, ...]:
        """Return the runs that are active; no more will be."""
        with self._lock:
            self._is_closed = True
            self._workers.stop_starting()
            return self._still_active()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _starting(self, folder: Path) -> Iterator[None]:
        """One start at a time, and none beyond what the launcher may run; raises LabError."""
        with self._lock:
            if self._is_closed:
                raise LabError(f"This launcher is closed and starts no run in {folder}")
            active = self._still_active()
            if len(active) >= self._max_active:
                raise LabError(
                    f"{active[0].folder} is still running, and at most {self._max_active} at a "
                    "time may: runs that share a processor have meaningless times",
                    advice="Stop it, or wait for its end",
                )
            try:
                yield
            except OSError as error:
                raise RunFolderError(f"No worker process could be started: {error}") from error

    def _take_turn(self, folder: Path) -> None:
        """Keep other launchers from training beside this run; raises LabError if one does."""
        self._turn.close()  # of a run that is over, and has yet to give it back
        self._turn = runs_lock.take(folder) if self._max_active == 1 else contextlib.ExitStack()

    def _still_active(self) -> tuple[RunHandle, ...]:
        self._active = [handle for handle in self._active if not handle.is_over]
        return tuple(self._active)


@contextlib.contextmanager
def _removed_on_error(folder: Path) -> Iterator[None]:
    """Remove the folder of a run that could not start."""
    try:
        yield
    except RunFolderError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RunFolderError(f"No worker process could be started: {error}") from error
    except (LabError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        raise
