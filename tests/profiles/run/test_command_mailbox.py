"""Commands left in a run's folder: numbered, each once, whichever process leaves them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.command_mailbox import (
    OWN_NUMBERS_FROM,
    LeftCommand,
    leave_command,
    read_commands,
    why_unheard,
)
from strategy_profiles.run.layout import command_file, commands_folder
from strategy_profiles.run.manifest import create_run_file


def test_commands_are_read_in_order_and_after_the_last(tmp_path: Path) -> None:
    assert read_commands(tmp_path) == []
    assert leave_command(tmp_path, "reconfigure", {"global_batch_size": 48}) == 1
    assert leave_command(tmp_path, "stop") == 2
    first = LeftCommand(1, "reconfigure", {"global_batch_size": 48})
    assert read_commands(tmp_path) == [first, LeftCommand(2, "stop")]
    assert read_commands(tmp_path, after=1) == [LeftCommand(2, "stop")]


def test_simultaneous_commands_get_different_numbers(tmp_path: Path) -> None:
    numbers: list[int] = []
    gate = threading.Barrier(8)

    def leave() -> None:
        gate.wait()
        numbers.append(leave_command(tmp_path, "stop"))

    threads = [threading.Thread(target=leave) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 9))
    assert [left.number for left in read_commands(tmp_path)] == list(range(1, 9))


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"command": 3}', '{"command": "x", "changes": 1}', "[" * 100_000),
        '{"command": "x", "changes": {"a": ' + "[" * 500 + "]" * 500 + "}}",
    ],
)
def test_a_file_that_holds_no_command_is_an_empty_one(tmp_path: Path, text: str) -> None:
    leave_command(tmp_path, "stop")
    command_file(tmp_path, 2).write_text(text)
    assert read_commands(tmp_path, after=1) == [LeftCommand(2)]


def test_a_pipe_in_place_of_a_command_holds_up_no_reader(tmp_path: Path) -> None:
    leave_command(tmp_path, "stop")
    os.mkfifo(command_file(tmp_path, 2))
    assert leave_command(tmp_path, "stop") == 3
    assert read_commands(tmp_path, after=1) == [LeftCommand(2), LeftCommand(3, "stop")]


def test_a_command_is_refused_that_no_process_would_read(tmp_path: Path) -> None:
    leave_command(tmp_path, "stop")
    command_file(tmp_path, OWN_NUMBERS_FROM - 1).write_text("")
    with pytest.raises(RunFolderError, match="a command with the last number, 999999"):
        leave_command(tmp_path, "stop")
    assert len(list(command_file(tmp_path, 1).parent.iterdir())) == 2


def test_an_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"cannot be written to the run folder .*no-run"):
        leave_command(tmp_path / "no-run", "stop")


def test_no_command_is_written_to_where_a_link_leads(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run = tmp_path / "run"
    run.mkdir()
    commands_folder(run).symlink_to(elsewhere)
    with pytest.raises(RunFolderError, match="is a link"):
        leave_command(run, "stop")
    assert not list(elsewhere.iterdir())


def test_a_run_without_a_launcher_says_so(tmp_path: Path) -> None:
    create_run_file(tmp_path / "run", recorded_by="record", cluster={"run_id": "a", "tasks": []})
    assert why_unheard(tmp_path / "run") == "no launcher of the lab runs it"
