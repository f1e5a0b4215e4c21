"""Who may come back: only a worker of parameter servers, while the run needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from strategy_core.cluster.tasks import cluster_of
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.restart_policy import MAX_COMEBACKS, may_restart, note_of
from strategy_core.launcher.worker_monitor import WorkerMonitor
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
    members = []
    for process in range(4):
        command = protocol.Run(1, str(folder), process, 0, spec.to_json())
        place = worker_folder(folder, process)
        # Nobody asks the process anything here.
        members.append(WorkerMonitor(cast(WorkerProcess, None), place, False, 0.0, command))
    return ProcessGroup(members, cluster)


@pytest.mark.parametrize(("process", "comes_back"), [(0, False), (1, True), (2, True), (3, False)])
def test_of_parameter_servers_only_workers_come_back(
    process: int, comes_back: bool, tmp_path: Path
) -> None:
    group = group_of("parameter-server", tmp_path)
    assert may_restart(group, group.members[process], 0) is comes_back


@pytest.mark.parametrize("process", range(4))
def test_of_a_synchronous_strategy_nobody_does(process: int, tmp_path: Path) -> None:
    group = group_of("multi-worker-mirrored", tmp_path)
    assert not may_restart(group, group.members[process], 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"leader": {"finished": "stopped"}},
        {"leader": {"lost_at": 1.0}},
        {"worker": {"failed": {"message": "its port is taken"}}},
        {"group": {"is_ending": True}},
    ],
)
def test_not_once_the_run_is_over_or_the_worker_said_why(
    changes: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    group = group_of("parameter-server", tmp_path)
    objects = {"leader": group.leader, "worker": group.members[1], "group": group}
    for name, values in changes.items():
        for field, value in values.items():
            setattr(objects[name], field, value)
    assert not may_restart(group, group.members[1], 0)


def test_not_for_ever(tmp_path: Path) -> None:
    group = group_of("parameter-server", tmp_path)
    assert may_restart(group, group.members[1], MAX_COMEBACKS - 1)
    assert not may_restart(group, group.members[1], MAX_COMEBACKS)


def test_the_note_names_who_is_missing_and_leaves_its_end_to_the_event_that_tells_it(
    tmp_path: Path,
) -> None:
    group = group_of("parameter-server", tmp_path)
    note = note_of(group, group.members[2])
    assert note.message.startswith("Training continues without worker 1 until")
    assert note.fields == {"worker": 2, "generation": 0}
