"""Commands of a launcher, as a worker takes them."""

from __future__ import annotations

import os

import pytest

from strategy_core.processes import protocol
from strategy_core.processes.command_reader import LAUNCHER_ENDED, ORPHANS, CommandReader

pytestmark = pytest.mark.slow


def test_commands_that_are_put_back_come_before_those_that_arrived_later() -> None:
    read_end, write_end = os.pipe()  # stays open: its end would end this process
    reader = CommandReader(os.fdopen(read_end, "rb"))
    first, second = protocol.Reconfigure(1, {"steps": 2}), protocol.Reconfigure(2, {"steps": 3})
    os.write(write_end, protocol.command_line(first))
    assert reader.next() == first
    reader.put_back([first])
    assert not reader.is_empty()
    os.write(write_end, protocol.command_line(second))
    commands: list[protocol.Command] = []
    while len(commands) < 2:
        commands += reader.pending()
    assert commands == [first, second]
    assert reader.is_empty()


def test_a_worker_with_steps_to_lose_stops_when_its_launcher_has_ended() -> None:
    read_end, write_end = os.pipe()
    reader = CommandReader(os.fdopen(read_end, "rb"), orphan_s=3600)  # then it ends this process
    reader.stop_with_launcher()
    os.close(write_end)
    assert reader.next() == protocol.Stop(ORPHANS, LAUNCHER_ENDED)
    assert reader.is_orphaned
