"""Worker: a thread reads commands from stdin; the end of stdin, the launcher's, ends the worker.

A worker that has steps to lose is first asked to stop, as its launcher would have asked it.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import BinaryIO

from strategy_core.processes import parent_death, protocol
from strategy_core.processes.timeouts import ORPHAN_S

ORPHANS = 0
"""Number of the Stop that a worker gives itself."""
LAUNCHER_ENDED = (
    "The lab or command that had started this run ended without stopping it, and the run stopped "
    "by itself."
)


class CommandReader:
    """Commands in the order in which they arrived. Read by one thread."""

    def __init__(self, stdin: BinaryIO, orphan_s: float = ORPHAN_S) -> None:
        self.is_orphaned = False
        """Whether the launcher has ended: no process reads this worker's messages."""
        self._stdin = stdin
        self._orphan_s = orphan_s
        self._has_to_lose = False
        # SimpleQueue is implemented in C: the queue is checked between any two steps.
        self._commands: queue.SimpleQueue[protocol.Command] = queue.SimpleQueue()
        self._put_back: list[protocol.Command] = []
        threading.Thread(target=self._read, name="commands", daemon=True).start()

    def stop_with_launcher(self) -> None:
        """Have the end of the launcher be a Stop from now on, instead of this process's end."""
        self._has_to_lose = True

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
        commands, self._put_back = self._put_back, []
        while not self._commands.empty():
            commands.append(self._commands.get())
        return commands

    def put_back(self, commands: list[protocol.Command]) -> None:
        """Return commands to be pending again, before those that arrived later."""
        self._put_back = commands

    def _read(self) -> None:
        for line in self._stdin:
            command = protocol.parse_command(line)
            if command is not None:
                self._commands.put(command)
        self.is_orphaned = True
        if self._has_to_lose:
            self._commands.put(protocol.Stop(ORPHANS, LAUNCHER_ENDED))
            time.sleep(self._orphan_s)
        parent_death.end_at_once()
