"""Worker: a thread reads commands from stdin; the end of stdin ends the worker."""

from __future__ import annotations

import queue
import threading
from typing import BinaryIO

from strategy_core.processes import parent_death, protocol


class CommandReader:
    """Commands in the order in which they arrived. Read by one thread."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin
        # SimpleQueue is implemented in C: the queue is checked between any two steps.
        self._commands: queue.SimpleQueue[protocol.Command] = queue.SimpleQueue()
        self._put_back: list[protocol.Command] = []
        threading.Thread(target=self._read, name="commands", daemon=True).start()

    def is_empty(self) -> bool:
        return not self._put_back and self._commands.empty()

    def next(self) -> protocol.Command:
        """Wait for a command."""
        return self._commands.get()

    def next_within(self, timeout_s: float) -> protocol.Command | None:
        """Wait for a command; None if the time is over before."""
        try:
            return self._commands.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def next_run(self) -> protocol.Run:
        """Wait for a run; commands before it are about no run and are dropped."""
        while True:
            command = self.next()
            if isinstance(command, protocol.Run):
                return command

    def pending(self) -> list[protocol.Command]:
        """The commands since the last call."""
        found, self._put_back = self._put_back, []
        while not self._commands.empty():
            found.append(self._commands.get())
        return found

    def put_back(self, commands: list[protocol.Command]) -> None:
        """Return commands to be pending again, before those that arrived later."""
        self._put_back = commands

    def _read(self) -> None:
        for line in self._stdin:
            command = protocol.parse_command(line)
            if command is not None:
                self._commands.put(command)
        parent_death.end_at_once()
