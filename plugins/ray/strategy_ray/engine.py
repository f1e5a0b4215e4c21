"""A run whose processes Ray places: Ray Train starts a task per worker, and each has its part.

Ray's `TensorflowTrainer` finds hosts with free processors or GPUs, starts a process on each and
gives it the cluster as `TF_CONFIG`. What that process does is `strategy-lab worker`: it launches
and watches a worker of its own and writes into the run folder, which lies on a disk that all hosts
share, or at the same path on each, to be collected.

Needs the extra on every host: `pip install 'strategy-lab[ray]'`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import strategy_profiles
from strategy_core.cluster.discovery.resolve import JOB, resolve
from strategy_core.launcher.launcher import Launcher
from strategy_core.launcher.multi_host_run import check_multi_host
from strategy_core.planning import validation
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.run.status import State
from strategy_profiles.spec.run_spec import RunSpec, parse_spec
from strategy_ray import EXTRA

_LOOK_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run under an engine ended."""

    folder: Path
    status: State
    message: str | None = None


def run_under_ray(
    spec: RunSpec,
    folder: Path | None = None,
    checkpoint: Path | None = None,
    *,
    cpus_per_worker: float = 1.0,
) -> Outcome:
    """Have Ray place every process of a MultiWorkerMirrored `spec`; returns when it is over.

    Uses the Ray cluster that `RAY_ADDRESS` names, or starts Ray on this host. Ctrl-C and SIGTERM
    stop the run at its next step. Raises LabError where Ray is not installed, or cannot start it.
    """
    EXTRA.require()
    check_multi_host(spec)
    validation.check(spec)  # here once; on each host again, whose files and devices differ
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    job = f"ray {time.time_ns()}"
    folder = (folder or Path("runs") / job.replace(" ", "-")).absolute()
    is_local = "RAY_ADDRESS" not in os.environ
    num_cpus = max(os.cpu_count() or 1, round(spec.workers * cpus_per_worker))
    ray.init(num_cpus=num_cpus if is_local else None, log_to_driver=False)
    try:
        actor = _run_actor()
        config = {
            "spec": spec.to_json(),
            "folder": str(folder),
            "checkpoint": str(checkpoint.absolute()) if checkpoint else None,
            "job": job,
            "actor": actor,
        }
        with _stores(folder) as storage:
            trainer = _trainer(spec, config, cpus_per_worker, storage)
            error = _fit(trainer, lambda: ray.get(actor.stop.remote()))
        endings = ray.get(actor.endings.remote())
    finally:
        ray.shutdown()
    if len(endings) < spec.workers:
        said = str(error or "").strip().splitlines() or [f"{len(endings)} of {spec.workers} ended"]
        raise LabError(f"Ray did not run every task to its end: {said[-1]}") from error
    return _outcome(folder, endings)


def _trainer(spec: RunSpec, config: dict[str, Any], cpus: float, storage: Path) -> Any:
    from ray.train import RunConfig, ScalingConfig
    from ray.train.tensorflow import TensorflowTrainer

    is_gpu = spec.device_request.kind == "gpu"
    resources = {"CPU": cpus}
    if is_gpu:
        resources["GPU"] = float(spec.device_request.count or 1)
    return TensorflowTrainer(
        run_task,
        train_loop_config=config,
        scaling_config=ScalingConfig(
            num_workers=spec.workers, use_gpu=is_gpu, resources_per_worker=resources
        ),
        run_config=RunConfig(storage_path=str(storage)),
    )


def run_task(config: dict[str, Any]) -> None:
    """One process of the run, on the node that Ray chose: starts and watches its worker.

    A failure is reported and not raised: Ray would end the others before they reported theirs.
    """
    import ray

    spec = parse_spec(config["spec"])
    checkpoint = Path(config["checkpoint"]) if config["checkpoint"] else None
    process, status, message = -1, "failed", None
    try:
        own_task = resolve("TF_CONFIG", environment={**os.environ, JOB: config["job"]})
        process = own_task.process
        with Launcher() as launcher:
            handle = launcher.join(own_task, spec, config["folder"], checkpoint)
            is_asked = False
            while not handle.wait(_LOOK_EVERY_S):
                if not is_asked and ray.get(config["actor"].is_stopped.remote()):
                    is_asked = True
                    handle.stop()
            status, message = handle.status, handle.message
    except LabError as error:
        message = str(error)
    ray.get(config["actor"].tell.remote(process, status, message))


def _run_actor() -> Any:
    """An actor that the driver and every task can reach: where to stop, and how each ended."""
    import ray

    class RunActor:
        def __init__(self) -> None:
            self._is_stopped = False
            self._endings: dict[int, tuple[str, str | None]] = {}

        def stop(self) -> None:
            self._is_stopped = True

        def is_stopped(self) -> bool:
            return self._is_stopped

        def tell(self, process: int, status: str, message: str | None) -> None:
            self._endings[process] = (status, message)

        def endings(self) -> dict[int, tuple[str, str | None]]:
            return self._endings

    return ray.remote(num_cpus=0)(RunActor).remote()


def _outcome(folder: Path, endings: dict[int, tuple[str, str | None]]) -> Outcome:
    """Read how the run ended from its records, if they are here; otherwise from the leader."""
    with contextlib.suppress(RunFolderError):
        status_of = strategy_profiles.load(folder).status
        return Outcome(folder, status_of.state, status_of.message)
    status, message = endings[min(endings)]
    return Outcome(folder, cast(State, status), message)


def _fit(trainer: Any, stop: Callable[[], object]) -> Exception | None:
    """Have Ray run the tasks; returns why it could not.

    Ray's own handler of Ctrl-C ends the tasks at once. It is only set in the main thread, which
    listens for signals here instead.
    """
    errors: list[Exception] = []

    def fit() -> None:
        try:
            trainer.fit()
        except Exception as error:
            errors.append(error)

    with _stop_on_signals(stop):
        thread = threading.Thread(target=fit, name="ray", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_LOOK_EVERY_S)  # a signal is handled between two waits
    return errors[0] if errors else None


@contextlib.contextmanager
def _stop_on_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` on SIGINT and SIGTERM inside the block.

    Does nothing outside the main thread, where Python does not allow signal handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: stop()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _stores(folder: Path) -> Iterator[Path]:
    """Yield a folder for Ray Train's own files, which the run does not need afterwards."""
    storage = folder.with_name(f".{folder.name}.ray")
    try:
        storage.mkdir(parents=True, exist_ok=True)
        yield storage
    finally:
        shutil.rmtree(storage, ignore_errors=True)
