"""The writer of a synthetic run: its run.json, events and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from strategy_profiles.run import event_parts, events
from strategy_profiles.run.event_columns import add_columns
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.layout import LAUNCHER_EVENTS, WorkerFolder, worker_folder
from strategy_profiles.run.manifest import create_run_file, uid_of
from strategy_profiles.tables.merged_windows import merge_windows
from strategy_profiles.tables.recorded import checksum
from tests.synthetic import tables
from tests.synthetic.recipe import (
    EPOCH_NS,
    Recipe,
    ahead_ns,
    core_devices,
    replica_device,
    spec_of,
    step_phases,
    strategy_of,
)
from tests.synthetic.stacks import write_stacks

TWO_HOSTS: dict[str, Any] = {
    "replicas": 4,
    "workers": 2,
    "hosts": ("a", "b"),
    "clock_ahead_ms": (0.0, 50.0),
    "leader_only": True,
}
"""Two hosts whose clocks differ by 50 ms; only the first one's steps are captured."""


def write_run(folder: str | Path, **options: Any) -> Path:
    """Write a run into the (new) `folder`; options are the fields of `Recipe`."""
    run = Path(folder)
    recipe = Recipe(**options)
    run.mkdir(parents=True, exist_ok=True)
    if "run.json" not in recipe.missing:
        create_run_file(run, spec_of(recipe).to_json(), created_ns=EPOCH_NS)
    recipe = replace(recipe, uid=uid_of(run))
    parts = _segment_recipes(recipe)
    launcher = _Clocked(run / LAUNCHER_EVENTS) if "launcher" not in recipe.missing else None
    for worker in range(recipe.workers):
        _write_worker(run, worker, parts, recipe, launcher)
    if launcher:
        launcher.close()
    for path, keep in recipe.cut:
        target = run / path
        target.write_bytes(target.read_bytes()[:keep])
    return run


class _Clocked(EventLog):
    """An event log whose clock is set by what is written; `behind` the reference's, if it is."""

    def __init__(self, path: Path, behind: Callable[[int], int] = lambda _at_ns: 0) -> None:
        self.at_ns = EPOCH_NS
        super().__init__(path, now_ns=lambda: self.at_ns - behind(self.at_ns))


def _segment_recipes(recipe: Recipe) -> list[tuple[Recipe, int]]:
    """Each segment's recipe and first step."""
    changes: Sequence[dict[str, Any]]
    if isinstance(recipe.segments, int):
        half = max(1, recipe.replicas // 2)
        changes = [{"replicas": half} if i % 2 else {} for i in range(recipe.segments)]
    else:
        changes = recipe.segments
    share = recipe.steps // len(changes)
    counts = [share] * (len(changes) - 1) + [recipe.steps - share * (len(changes) - 1)]
    parts, first = [], 0
    for change, count in zip(changes, counts, strict=True):
        parts.append((replace(recipe, **{"steps": count, **change}), first))
        first += count
    return parts


def _write_worker(
    run: Path,
    worker: int,
    parts: list[tuple[Recipe, int]],
    recipe: Recipe,
    launcher: _Clocked | None,
) -> None:
    generation, at_ns = 0, EPOCH_NS + round(recipe.begins_s * 1e9)
    folder = worker_folder(run, worker, generation)
    log = _open_worker(folder, recipe, launcher)
    for index, (part, first) in enumerate(parts):
        if part.moved == "fresh-worker" and index:
            log.close()
            _exited(launcher, folder, "replaced", 0)
            generation += 1
            folder = worker_folder(run, worker, generation)
            log = _open_worker(folder, recipe, launcher)
        log.at_ns = max(log.at_ns, at_ns)
        at_ns = _write_segment(folder, log, index, part, first)
    _close_worker(folder, log, recipe, launcher)


def _open_worker(folder: WorkerFolder, recipe: Recipe, launcher: _Clocked | None) -> _Clocked:
    if launcher:
        launcher.write(
            events.Launched(
                folder.worker, folder.generation, recipe.pid, EPOCH_NS, True, run=recipe.uid
            )
        )
    log = _Clocked(folder.events, lambda at: int(ahead_ns(recipe, folder.worker, np.array(at))))
    log.write(events.WorkerStarted(folder.worker, recipe.pid, EPOCH_NS, 1_000_000, recipe.uid))
    if "environment" not in recipe.missing:
        names = [replica_device(recipe, replica) for replica in range(recipe.replicas)]
        log.write(
            events.Environment(
                tensorflow="2.21.0",
                python="3.11.9",
                devices=[event_parts.Device(name, recipe.device_kind) for name in names],
                host=event_parts.Host(
                    name=recipe.hosts[folder.worker] if recipe.hosts else "synthetic",
                    boot=None,
                    cpus=2,
                    memory_bytes=8 << 30,
                    platform="Linux",
                ),
                threads=recipe.threads,
            )
        )
    return log


def _close_worker(
    folder: WorkerFolder, log: _Clocked, recipe: Recipe, launcher: _Clocked | None
) -> None:
    if recipe.ending in ("finished", "stopped"):
        log.write(events.Finished(recipe.ending, recipe.steps))
    if recipe.ending == "failed":
        log.write(events.Failed(f"{recipe.prefix}loss is NaN", "Traceback ..."))
    log.close()
    if recipe.ending:
        if launcher:
            launcher.at_ns = log.at_ns
            if recipe.memory and not folder.worker:
                _write_resources(launcher, recipe)
        _exited(launcher, folder, recipe.ending, 0 if recipe.ending == "finished" else 1)


def _exited(launcher: _Clocked | None, folder: WorkerFolder, verdict: str, code: int) -> None:
    if launcher:
        launcher.write(events.Exited(folder.worker, folder.generation, code, verdict))


def _segment_opened(
    recipe: Recipe, segment: int, first: int, started_ns: int, moved: str | None
) -> events.SegmentOpened:
    checksum = f"sha256:{segment:064x}"
    return events.SegmentOpened(
        segment=segment,
        strategy=strategy_of(recipe),
        num_replicas=recipe.replicas,
        num_workers=recipe.workers,
        global_batch_size=recipe.global_batch_size,
        first_step=first,
        started_ns=started_ns,
        replica_devices=[replica_device(recipe, i) for i in range(recipe.replicas)],
        cross_device_ops="collective-ring",
        core_devices=core_devices(recipe),
        spec=spec_of(recipe).to_json() if recipe.is_of_lab else {},
        parameter_bytes=sum(recipe.collective_bytes),
        state_checksum_before=checksum if segment else None,
        state_checksum_after=checksum if segment else None,
        moved=(moved or "same-worker") if segment else None,
        has_central_copy=False,
    )


def _write_segment(
    folder: WorkerFolder, log: _Clocked, segment: int, recipe: Recipe, first: int
) -> int:
    """Write a segment's events and tables; the wall clock at its end."""
    rng = np.random.default_rng([recipe.seed, segment])
    phases = step_phases(recipe, recipe.steps, rng)
    lengths = (phases["wall"].max(axis=1) * 1e6).astype(np.int64)
    after_ns = np.zeros(recipe.steps, np.int64)
    for step, gap_ms, _ in recipe.gaps or ():
        after_ns[step] += int(gap_ms * 1e6)
    starts = log.at_ns + np.concatenate([[0], np.cumsum(lengths + after_ns)[:-1]]).astype(np.int64)
    if recipe.gaps is not None:
        write_stacks(folder, starts, lengths, recipe.gaps, recipe.lines)
    log.write(_segment_opened(recipe, segment, first, log.at_ns, recipe.moved))
    window_starts = [] if recipe.leader_only and folder.worker else _window_starts(recipe)
    captured = {start + i for start in window_starts for i in range(recipe.window_steps)}
    made = tables.Segment(
        segment=segment,
        worker=folder.worker,
        first_step=first,
        starts_ns=starts - ahead_ns(recipe, folder.worker, starts),
        phases=phases,
        devices=[replica_device(recipe, i) for i in range(recipe.replicas)],
        local=_local_replicas(recipe, folder.worker),
        recipe=recipe,
    )
    if recipe.placement:
        path = folder.placement(segment)
        rows, crc32 = tables.write_placement(path, made), None
        if recipe.checksums:
            crc32 = checksum(path)
        log.write(events.PlacementRecorded(segment, path.name, rows, crc32=crc32))
    marks = _marks(made) if recipe.marks else None
    for i in range(recipe.steps):
        log.at_ns = int(starts[i] + lengths[i])
        if folder.worker and recipe.clock_ahead_ms and recipe.clock_measured:
            _write_clock(folder, log, recipe, int(starts[i]))
        log.write(_step(recipe, made, marks, i, i in captured))
        if recipe.memory and i % 10 == 0:
            _write_memory(log, made, first + i)
        if recipe.captured and i + 1 - recipe.window_steps in window_starts:
            _write_window(folder, log, made, i + 1 - recipe.window_steps)
    for fields_ in recipe.retraced:
        log.write(events.Retraced(segment=segment, **fields_))
    for fields_ in recipe.epoch_ends:
        ended_ns = int(starts[fields_["step"] - first] + lengths[fields_["step"] - first])
        log.write(events.EpochEnded(segment=segment, start_ns=ended_ns, **fields_))
    if recipe.contexts:
        tables.write_contexts(folder.contexts(segment), made)
    return log.at_ns


def _local_replicas(recipe: Recipe, worker: int) -> range:
    local = recipe.replicas // recipe.workers
    return range(worker * local, (worker + 1) * local)


def _window_starts(recipe: Recipe) -> list[int]:
    """Steps (within the segment) at which a window starts; never the first, which is traced."""
    free = recipe.steps - recipe.window_steps - 1
    if recipe.windows == 0 or free < recipe.windows * recipe.window_steps:
        return [1] if recipe.windows and free >= 0 else []
    return [1 + i * (free // recipe.windows) for i in range(recipe.windows)]


def _marks(made: tables.Segment) -> list[list[list[int]]]:
    """Per step and local replica: inputs ready, gradients ready, reduced."""
    phases = made.phases
    ready = made.starts_ns[:, None] + (phases["input"] * 1e6).astype(np.int64)
    gradients = ready + ((phases["compute"] + phases["delay"]) * 1e6).astype(np.int64)
    reduced = gradients + ((phases["wait"] + phases["transfer"]) * 1e6).astype(np.int64)
    every: list[list[list[int]]] = np.stack([ready, gradients, reduced], axis=-1)[
        :, list(made.local)
    ].tolist()
    return every


def _step(
    recipe: Recipe, made: tables.Segment, marks: Any, index: int, captured: bool
) -> events.StepDone:
    step = made.first_step + index
    is_nan = recipe.nan_loss_from is not None and step >= recipe.nan_loss_from
    return events.StepDone(
        segment=made.segment,
        step=step,
        start_ns=int(made.starts_ns[index]),
        wall_ms=round(float(made.phases["wall"][index].max()), 4),
        loss=float("nan") if is_nan else round(2.3 * 0.995**step + 0.1, 5),
        examples=recipe.global_batch_size,
        captured=captured,
        input_ms=round(float(made.phases["input"][index].max()), 4),
        marks_ns=marks[index] if marks is not None else None,
    )


def _write_resources(launcher: _Clocked, recipe: Recipe) -> None:
    """A sample of the last second: every worker used half a core, other programs a tenth."""
    launcher.at_ns -= 5_000_000  # the last step has not ended
    used = [event_parts.ProcessUse(worker, 0, 0.5, 600_000_000) for worker in range(recipe.workers)]
    launcher.write(events.ResourcesSampled(1000.0, 8, 0.5 * recipe.workers + 0.1, 0.0, used))


def _write_memory(log: _Clocked, made: tables.Segment, step: int) -> None:
    for replica in made.local:
        device = made.devices[replica]
        log.write(events.MemorySampled(device, step, 50_000_000 + 1000 * step, 80_000_000, "tf"))


def _write_clock(folder: WorkerFolder, log: _Clocked, recipe: Recipe, since_ns: int) -> None:
    """A measurement where a whole second began with this step: wrong by up to what it says."""
    if since_ns // 10**9 == log.at_ns // 10**9 and since_ns > EPOCH_NS:
        return
    true = int(ahead_ns(recipe, folder.worker, np.array(log.at_ns)))
    rng = np.random.default_rng([recipe.seed, folder.worker, log.at_ns - EPOCH_NS])
    wrong, within = int(rng.integers(-20_000, 20_001)), 20_000
    log.write(
        events.ClockMeasured(0, log.at_ns - true, true + wrong, within, 2 * within, 16, "udp")
    )


def _seen_alone(made: tables.Segment) -> dict[str, np.ndarray]:
    """What one worker's capture shows: waiting for other workers looks like transfer."""
    phases, mine = dict(made.phases), list(made.local)
    own = phases["compute"][:, mine] + phases["delay"][:, mine]
    wait = phases["wait"].copy()
    wait[:, mine] = own.max(axis=1, keepdims=True) - own
    phases["transfer"] = phases["transfer"] + phases["wait"] - wait
    phases["wait"] = wait
    return phases


def _write_window(folder: WorkerFolder, log: _Clocked, made: tables.Segment, start: int) -> None:
    """Write the tables and the event of the capture window at the segment's step `start`."""
    number = made.segment * 100 + _window_starts(made.recipe).index(start)
    path = folder.window(number)
    if made.recipe.leader_only:
        made = replace(made, phases=_seen_alone(made))
    written = tables.write_window(path, made, start)
    num_spans = written["spans"]
    files = {
        name: event_parts.TableFile(num_rows, checksum(path / f"{name}.parquet"))
        for name, num_rows in written.items()
        if made.recipe.checksums and name not in made.recipe.missing
    }
    log.write(
        events.WindowCaptured(
            window=number,
            segment=made.segment,
            first_step=made.first_step + start,
            num_steps=made.recipe.window_steps,
            folder=path.name,
            num_events=num_spans * 4,
            num_spans=num_spans,
            start_ms=0.1,
            stop_ms=20.0,
            convert_ms=15.0,
            tables=files,
        )
    )
    if "merged" not in made.recipe.missing:
        merge_windows(path)
    add_columns(folder.events)
