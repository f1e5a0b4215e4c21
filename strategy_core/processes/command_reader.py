"""The worker's ear: a thread reads commands from stdin; the end of stdin ends the worker."""

from __future__ import annotations

import queue
import threading
from typing import BinaryIO

from strategy_core.processes import parent_death, protocol


class CommandReader:
    """Commands in the order in which they came. Read by one thread."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin
        # In C: it is looked at between any two steps.
        self._commands: queue.SimpleQueue[protocol.Command] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="commands", daemon=True).start()

    def is_empty(self) -> bool:
        return self._commands.empty()

    def next(self) -> protocol.Command:
        """Wait for a command."""
        return self._commands.get()

    def next_within(self, timeout_s: float) -> protocol.Command | None:
        """Wait for a command, so long at most."""
        try:
            return self._commands.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def next_run(self) -> protocol.Run:
        """Wait for a run; without one there is nothing that another command could be about."""
        while True:
            command = self.next()
            if isinstance(command, protocol.Run):
                return command

    def pending(self) -> list[protocol.Command]:
        """What came since the last look."""
        found = []
        while not self._commands.empty():
            found.append(self._commands.get())
        return found

    def _read(self) -> None:
        for line in self._stdin:
            command = protocol.parse_command(line)
            if command is not None:
                self._commands.put(command)
        parent_death.end_at_once()
