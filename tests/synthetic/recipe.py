"""What a synthetic run is made of, and the truth behind its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from strategy_profiles.run.event_parts import StackPlace, Threads
from strategy_profiles.spec.run_spec import RunSpec

EPOCH_NS = 1_760_000_000_000_000_000
HOSTILE = "<script>alert('x')</script>\"&'\n\u202e"


Ending = Literal["finished", "stopped", "failed", "crashed"]


@dataclass(frozen=True)
class Recipe:
    """What the run is made of. Times in milliseconds."""

    replicas: int = 4
    steps: int = 200
    """Of the whole run, shared evenly by the segments."""
    workers: int = 1
    segments: int | Sequence[dict[str, Any]] = 1
    """A count, or one mapping of changed fields of this recipe per segment.
    `moved="fresh-worker"` in it starts a new worker generation."""
    strategy: str = "mirrored"
    device_kind: str = "CPU"
    cores_per_replica: int = 1
    """Under strategy `tpu`: core k computes 1 / (k + 1) of what core 0 does, then idles."""
    global_batch_size: int = 256
    step_ms: float = 20.0
    """Compute of a replica's step."""
    input_ms: float = 1.0
    transfer_ms: float = 2.0
    idle_ms: float = 0.5
    noise: float = 0.03
    """Relative standard deviation of each replica's compute."""
    drift: float = 0.3
    """Lag-1 autocorrelation of the part of the noise that all replicas share."""
    tracing_ms: float = 800.0
    """Extra length of the first step of a segment."""
    straggler: tuple[int, float] | None = None
    """(replica, extra milliseconds in its compute)."""
    also_late: tuple[int, float] | None = None
    """Another one."""
    inject: Sequence[dict[str, Any]] = ()
    """Delays that the spec says the lab injected."""
    is_of_lab: bool = True
    """Whether segments have the spec; those of a traced program have none."""
    causes: Sequence[dict[str, Any]] = ()
    """Rows of the table `causes` of every captured step."""
    retraced: Sequence[dict[str, Any]] = ()
    """Fields of `Retraced` beside its segment."""
    epoch_ends: Sequence[dict[str, Any]] = ()
    """Fields of `EpochEnded` beside its segment and start. Steps follow each other nevertheless."""
    lines: Sequence[tuple[int, str]] = ()
    """Numbers and texts of lines of the program that are recorded with `gaps`."""
    gaps: Sequence[tuple[int, float, StackPlace]] | None = None
    """What the program does after a step: its number, milliseconds, and where it is meanwhile. None
    without samples of its stack, as in runs of earlier versions."""
    threads: Threads | None = None
    """TensorFlow's thread pools; None as in runs of earlier versions."""
    every_step: bool = False
    """What the spec says of it; `windows` is what was captured."""
    windows: int = 3
    """Capture windows per segment."""
    window_steps: int = 10
    ops_per_step: int = 24
    """Compute ops per replica and step."""
    collective_bytes: Sequence[int] = (2_097_152, 262_144)
    """One all-reduce per entry and step, if there is more than one replica."""
    marks: bool = True
    memory: bool = True
    placement: bool = True
    contexts: bool = False
    captured: bool = True
    """Whether the windows' Parquet files exist."""
    checksums: bool = False
    """Whether events have the checksums of the Parquet files, as those of today's runs have.

    Without them, as in runs of earlier versions, a test may change a file, and copies of windows
    are not read.
    """
    uid: str = ""
    """That of `run.json`, once it is written."""
    ending: Ending | None = "finished"
    """`finished`, `stopped`, `failed`, `crashed`, or None: cut off without a word."""
    missing: Sequence[str] = ()
    """Pieces left out: `run.json`, `launcher`, `environment`, or a window table's name."""
    cut: Sequence[tuple[str, int]] = ()
    """(path in the run folder, bytes to keep): files cut off after writing."""
    prefix: str = ""
    """Put before every op, variable and workload name: long or hostile text."""
    nan_loss_from: int | None = None
    hosts: Sequence[str] = ()
    """Host name by worker; without it all are on one host."""
    clock_ahead_ms: Sequence[float] = ()
    """By worker how far the reference's clock is ahead of its own, at the start."""
    clock_drift_ppm: Sequence[float] = ()
    """By worker how much faster the reference's clock runs."""
    clock_measured: bool = True
    """Whether workers with a clock of their own exchanged messages with the first."""
    leader_only: bool = False
    """Whether only worker 0 has capture windows, the others light marks."""
    begins_s: float = 0.0
    """When the first segment begins, after `EPOCH_NS`."""
    moved: str | None = None
    pid: int = 2**22 - 1
    seed: int = 0


def spec_of(recipe: Recipe) -> RunSpec:
    """The RunSpec that this recipe would come from."""
    count = recipe.replicas // recipe.workers
    return RunSpec.model_validate(
        {
            "strategy": strategy_of(recipe),
            "devices": f"{recipe.device_kind.lower()}:{count}",
            "workers": recipe.workers,
            "workload": f"{recipe.prefix}digits-cnn",
            "global_batch_size": recipe.global_batch_size,
            "steps": max(1, recipe.steps),
            "seed": recipe.seed,
            "capture": {"every_step": recipe.every_step, "contexts": recipe.contexts},
            "inject": [{"kind": "delay", **delay} for delay in recipe.inject],
        }
    )


def strategy_of(recipe: Recipe) -> str:
    """One process has the mirrored strategy, several its sibling."""
    is_cluster = recipe.workers > 1 and recipe.strategy == "mirrored"
    return "multi-worker-mirrored" if is_cluster else recipe.strategy


def ahead_ns(recipe: Recipe, worker: int, true_ns: np.ndarray) -> np.ndarray:
    """How far the reference's clock is ahead of a worker's own at a (reference) time."""
    offset = recipe.clock_ahead_ms[worker] if worker < len(recipe.clock_ahead_ms) else 0.0
    drift = recipe.clock_drift_ppm[worker] if worker < len(recipe.clock_drift_ppm) else 0.0
    since = np.asarray(true_ns, np.int64) - EPOCH_NS
    ahead: np.ndarray = np.rint(offset * 1e6 + drift * 1e-6 * since).astype(np.int64)
    return ahead


def core_devices(recipe: Recipe) -> list[list[str]] | None:
    """Device names by replica and core, where the strategy has cores."""
    if recipe.strategy != "tpu":
        return None
    cores = range(recipe.cores_per_replica)
    return [[replica_device(recipe, r, core) for core in cores] for r in range(recipe.replicas)]


def replica_device(recipe: Recipe, replica: int, core: int = 0) -> str:
    """Full device name of a global replica, or of another one of its cores."""
    local = recipe.replicas // recipe.workers
    job = "worker" if recipe.workers > 1 else "localhost"
    return (
        f"/job:{job}/replica:0/task:{replica // local}"
        f"/device:{recipe.device_kind}:{replica % local * recipe.cores_per_replica + core}"
    )


def step_phases(recipe: Recipe, num_steps: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Milliseconds of each phase, `[steps, replicas]`; every row of a step adds up to one wall."""
    shape = (num_steps, recipe.replicas)
    shared = np.zeros(num_steps)
    shocks = rng.normal(0, 1, num_steps) * np.sqrt(1 - recipe.drift**2)
    for i in range(1, num_steps):
        shared[i] = recipe.drift * shared[i - 1] + shocks[i]
    wobble = 0.5 * shared[:, None] + rng.normal(0, 1, shape) * 0.5
    compute = recipe.step_ms * np.clip(1 + recipe.noise * wobble, 0.2, None)
    for late in (recipe.straggler, recipe.also_late):
        if late is not None:
            compute[:, late[0]] += late[1]
    input_ms = np.full(shape, 1.0) * recipe.input_ms * rng.uniform(0.8, 1.2, (num_steps, 1))
    idle = np.full(shape, recipe.idle_ms)
    if num_steps:
        idle[0] += recipe.tracing_ms
    alone = recipe.replicas == 1
    wait = compute.max(axis=1, keepdims=True) - compute
    transfer = np.full(shape, 0.0 if alone else recipe.transfer_ms)
    delay = np.zeros(shape)
    for planned in recipe.inject:
        per_worker = recipe.replicas // recipe.workers
        replica = planned.get("worker", 0) * per_worker + planned["replica"]
        delay[:, replica] = np.minimum(planned["ms"], compute[:, replica])
    return {
        "input": input_ms,
        "compute": compute - delay,
        "delay": delay,
        "wait": wait,
        "transfer": transfer,
        "idle": idle,
        "wall": input_ms + compute + wait + transfer + idle,
    }
