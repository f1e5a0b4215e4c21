"""A run of parameter servers on disk, its numbers known: two workers, one server, no TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import Host, ServedVariable, Server
from strategy_profiles.run.events import (
    ClosureDone,
    Environment,
    Event,
    Exited,
    Finished,
    Launched,
    SegmentOpened,
    StepDone,
    VariablesServed,
    WorkerStarted,
)
from strategy_profiles.run.layout import LAUNCHER_EVENTS, worker_folder
from strategy_profiles.run.manifest import create_run_file
from strategy_profiles.spec.run_spec import parse_spec

BEGIN_NS = 1_700_000_000_000_000_000
MS = 1_000_000
SPEC: dict[str, Any] = {
    "strategy": "parameter-server",
    "workers": 2,
    "parameter_servers": 1,
    "workload": "digits-mlp",
    "global_batch_size": 32,
    "steps": 100,
}
PARTS_MS = {1: (1, 2, 3, 4), 2: (1, 2, 23, 4)}
"""By process: input, pull, compute, push of each of its steps."""
QUEUED_MS, RETURN_MS, APART_MS = 5, 2, 3
"""Before a step, after it, and until the worker begins its next."""
DEVICES = [f"/job:worker/replica:0/task:{task}/device:CPU:0" for task in range(2)]


def closures(process: int, count: int, first_ns: int = BEGIN_NS) -> list[ClosureDone]:
    """`count` steps of one worker, one after the other; numbered later."""
    made, at = [], first_ns
    for _ in range(count):
        marks = [at]
        for part in PARTS_MS[process]:
            marks.append(marks[-1] + part * MS)
        scheduled, finished = at - QUEUED_MS * MS, marks[-1] + RETURN_MS * MS
        made.append(ClosureDone(0, 0, process, scheduled, tuple(marks), finished))
        at = marks[-1] + APART_MS * MS
    return made


def write_served_run(
    folder: Path,
    *,
    counts: tuple[int, int] = (40, 16),
    own_step: bool = False,
    extra: list[Event] | None = None,
    launcher_extra: list[tuple[int, Event]] | None = None,
    hosts: tuple[str, str, str] = ("here", "here", "here"),
) -> Path:
    """Write it; `counts` steps by worker, `own_step` where the workload's step tells no parts,
    `hosts` of coordinator and workers."""
    create_run_file(folder, parse_spec(SPEC).to_json())
    done = [
        one
        for process, count in ((1, counts[0]), (2, counts[1]))
        for one in closures(process, count)
    ]
    done.sort(key=lambda one: one.finished_ns)
    for process in range(4):
        end = [Finished("finished", 0)] if process else []
        _write(folder, process, [*_start(process, hosts[min(process, 2)]), *end])
    _write(folder, 0, [_segment(), *_steps(done, own_step), _served(own_step), *(extra or [])])
    _write(folder, 0, [Finished("finished", len(done))])
    launched = [Launched(n, 0, 1 << 22, 1, False, task) for n, task in enumerate(_TASKS)]
    exited = [Exited(number, 0, 0, "finished") for number in (0, 1, 3)]
    with_times = [(BEGIN_NS, event) for event in launched]
    with_times += launcher_extra or [(BEGIN_NS, Exited(2, 0, 0, "finished"))]
    for at_ns, event in [*with_times, *((BEGIN_NS, event) for event in exited)]:
        log = EventLog(folder / LAUNCHER_EVENTS, now_ns=lambda at_ns=at_ns: at_ns)
        log.write(event)
        log.close()
    return folder


_TASKS = ("coordinator", "worker 0", "worker 1", "parameter server 0")


def _write(folder: Path, process: int, events: list[Event]) -> None:
    log = EventLog(worker_folder(folder, process).events, now_ns=lambda: BEGIN_NS)
    for event in events:
        log.write(event)
    log.close()


def _start(process: int, host: str) -> list[Event]:
    started = WorkerStarted(process, 1 << 22, BEGIN_NS, 0)
    return [started, Environment("2.21.0", "3.11", [], Host(name=host, cpus=2))]


def _segment() -> SegmentOpened:
    return SegmentOpened(
        0, "parameter-server", 2, 2, 32, 0, BEGIN_NS, DEVICES, "none", parse_spec(SPEC).to_json()
    )


def _steps(done: list[ClosureDone], own_step: bool) -> list[Event]:
    events: list[Event] = []
    before = BEGIN_NS
    for step, one in enumerate(done):
        wall_ms = (one.finished_ns - before) / MS
        events.append(StepDone(0, step, before, wall_ms, 1.0 / (step + 1), 32, False))
        before = one.finished_ns
        marks = one.marks_ns
        if own_step:
            marks = (marks[0], marks[1], None, None, marks[4])
        events.append(ClosureDone(0, step, one.worker, one.scheduled_ns, marks, one.finished_ns))
    return events


def _served(own_step: bool) -> VariablesServed:
    def row(name: str, role: Any, size: int, push: int) -> ServedVariable:
        moved = None if own_step else 1
        return ServedVariable(
            name,
            role,
            size,
            server=0,
            shape=[size // 4],
            part=0,
            num_parts=1,
            pull_bytes=0 if role == "optimizer" else moved and size,
            push_bytes=0 if role == "optimizer" else moved and push,
        )

    rows = [
        row("kernel", "weight", 400, 400),
        row("mean", "state", 40, 40),
        row("momentum", "optimizer", 400, 0),
    ]
    device = "/job:ps/replica:0/task:0/device:CPU:0"
    return VariablesServed(0, [Server(3, device)], rows)
