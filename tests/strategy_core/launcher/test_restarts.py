"""Which process is restarted alone: a worker of parameter servers, while the run needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strategy_core.launcher.group_state import GroupEvent
from strategy_core.launcher.restarts import MAX_RESTARTS, may_restart, note_of
from tests.strategy_core.launcher.fake_group import FakeGroup


@pytest.mark.parametrize(
    ("process", "is_restarted"), [(0, False), (1, True), (2, True), (3, False)]
)
def test_with_parameter_servers_only_workers_are_restarted(
    process: int, is_restarted: bool, tmp_path: Path
) -> None:
    group = FakeGroup("parameter-server", tmp_path).group
    assert may_restart(group, group.workers[process], 0) is is_restarted


@pytest.mark.parametrize("process", range(4))
def test_no_process_of_a_synchronous_strategy_is_restarted_alone(
    process: int, tmp_path: Path
) -> None:
    group = FakeGroup("multi-worker-mirrored", tmp_path).group
    assert not may_restart(group, group.workers[process], 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"leader": {"finished": "stopped"}},
        {"leader": {"lost_at": 1.0}},
        {"worker": {"failed": {"message": "its port is taken"}}},
    ],
)
def test_no_restart_once_the_run_is_over_or_the_worker_reported_why(
    changes: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    group = FakeGroup("parameter-server", tmp_path).group
    objects = {"leader": group.leader, "worker": group.workers[1]}
    for name, values in changes.items():
        for field, value in values.items():
            setattr(objects[name], field, value)
    assert not may_restart(group, group.workers[1], 0)


def test_no_restart_in_a_group_that_the_launcher_has_killed(tmp_path: Path) -> None:
    group = FakeGroup("parameter-server", tmp_path).group
    group.machine.advance(GroupEvent.KILLED)
    assert not may_restart(group, group.workers[1], 0)


def test_a_worker_is_restarted_a_limited_number_of_times(tmp_path: Path) -> None:
    group = FakeGroup("parameter-server", tmp_path).group
    assert may_restart(group, group.workers[1], MAX_RESTARTS - 1)
    assert not may_restart(group, group.workers[1], MAX_RESTARTS)


def test_the_note_names_who_is_missing_and_leaves_its_end_to_the_event_that_tells_it(
    tmp_path: Path,
) -> None:
    group = FakeGroup("parameter-server", tmp_path).group
    note = note_of(group, group.workers[2])
    assert note.message.startswith("Training continues without worker 1 until")
    assert note.fields == {"worker": 2, "generation": 0}
