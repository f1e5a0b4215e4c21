"""Which process is restarted alone: a worker of parameter servers, while the run needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from strategy_core.cluster.tasks import cluster_of
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.restarts import MAX_RESTARTS, may_restart, note_of
from strategy_core.launcher.worker_monitor import ProcessStart, WorkerMonitor
from strategy_core.processes import protocol
from strategy_core.processes.worker_process import WorkerProcess
from strategy_lab.profiles.run.layout import worker_folder
from strategy_lab.profiles.spec.run_spec import parse_spec

SPECS = {
    "parameter-server": {"strategy": "parameter-server", "workers": 2, "parameter_servers": 1},
    "multi-worker-mirrored": {"strategy": "multi-worker-mirrored", "workers": 4},
}


def group_of(strategy: str, folder: Path) -> ProcessGroup:
    spec = parse_spec({**SPECS[strategy], "global_batch_size": 64})
    cluster = cluster_of(spec, [f"127.0.0.1:{port}" for port in range(2222, 2226)])
    workers = []
    for process in range(4):
        command = protocol.Run(1, str(folder), process, 0, spec.to_json())
        place = worker_folder(folder, process)
        no_process = cast(WorkerProcess, None)
        workers.append(WorkerMonitor(no_process, place, False, 0.0, ProcessStart(command)))
    return ProcessGroup(workers, cluster)


@pytest.mark.parametrize(
    ("process", "is_restarted"), [(0, False), (1, True), (2, True), (3, False)]
)
def test_with_parameter_servers_only_workers_are_restarted(
    process: int, is_restarted: bool, tmp_path: Path
) -> None:
    group = group_of("parameter-server", tmp_path)
    assert may_restart(group, group.workers[process], 0) is is_restarted


@pytest.mark.parametrize("process", range(4))
def test_no_process_of_a_synchronous_strategy_is_restarted_alone(
    process: int, tmp_path: Path
) -> None:
    group = group_of("multi-worker-mirrored", tmp_path)
    assert not may_restart(group, group.workers[process], 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"leader": {"finished": "stopped"}},
        {"leader": {"lost_at": 1.0}},
        {"worker": {"failed": {"message": "its port is taken"}}},
        {"group": {"was_killed": True}},
    ],
)
def test_no_restart_once_the_run_is_over_or_the_worker_reported_why(
    changes: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    group = group_of("parameter-server", tmp_path)
    objects = {"leader": group.leader, "worker": group.workers[1], "group": group}
    for name, values in changes.items():
        for field, value in values.items():
            setattr(objects[name], field, value)
    assert not may_restart(group, group.workers[1], 0)


def test_a_worker_is_restarted_a_limited_number_of_times(tmp_path: Path) -> None:
    group = group_of("parameter-server", tmp_path)
    assert may_restart(group, group.workers[1], MAX_RESTARTS - 1)
    assert not may_restart(group, group.workers[1], MAX_RESTARTS)


def test_the_note_names_who_is_missing_and_leaves_its_end_to_the_event_that_tells_it(
    tmp_path: Path,
) -> None:
    group = group_of("parameter-server", tmp_path)
    note = note_of(group, group.workers[2])
    assert note.message.startswith("Training continues without worker 1 until")
    assert note.fields == {"worker": 2, "generation": 0}
