"""Workers of a cluster obey a command at the same step, or one would wait for another for ever.

Every worker is sent every command, but not at the same moment. So each step carries, in the same
all-reduce as its loss, how many commands every worker has received so far: a command is obeyed
after the step that shows that all of them have it, and all see that in the same step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from strategy_core.processes import protocol

HEARD_OF = 0
"""Number of a command that was sent to a peer."""


class CommandAgreement:
    """One worker's side of it.

    Args:
      process: number of this worker.
      num_workers: how many there are, with as many replicas each.
    """

    def __init__(self, process: int, num_workers: int) -> None:
        self._process = process
        self._num_workers = num_workers
        self._received: list[protocol.Command] = []
        self._num_obeyed = 0
        self._num_agreed = 0
        self._told = self._tell()

    def receive(self, commands: Sequence[protocol.Command]) -> None:
        """Commands that reached this worker, in the order in which they were sent to all."""
        if commands:
            self._received.extend(commands)
            self._told = self._tell()

    def told(self) -> npt.NDArray[np.float32]:
        """What each of this worker's replicas adds to the next step's sum: (num_workers + 1,).

        The last number counts the replicas.
        """
        return self._told

    def hear(self, summed: Sequence[float]) -> None:
        """The sum over all replicas that the step gave: (num_workers + 1,)."""
        self._num_agreed = min(self._counts(summed))

    def agreed(self) -> list[protocol.Command]:
        """Commands to obey now, each once: every worker has them."""
        ready = self._received[self._num_obeyed : self._num_agreed]
        self._num_obeyed = max(self._num_obeyed, self._num_agreed)
        return ready

    def _tell(self) -> npt.NDArray[np.float32]:
        told = np.zeros(self._num_workers + 1, np.float32)
        told[self._process], told[-1] = len(self._received), 1
        return told

    def _counts(self, summed: Sequence[float]) -> list[int]:
        """Commands that each worker has: every one of its replicas added them."""
        *counts, num_replicas = summed
        return [round(count * self._num_workers / num_replicas) for count in counts]


class SharedCommands(CommandAgreement):
    """The same between workers whose launchers do not know each other.

    What one of them was sent, its peers were not. The step shows all of them that there is
    something; right after it they tell each other what, and obey it there.

    Args:
      share: tells all workers a text each, and returns what each said, by process number. Entered
        by all of them at once, and only if there is something to share.
    """

    def __init__(
        self, process: int, num_workers: int, share: Callable[[str], Sequence[str]]
    ) -> None:
        super().__init__(process, num_workers)
        self._share = share
        self._heard = self._obeyed = [0] * num_workers

    def hear(self, summed: Sequence[float]) -> None:
        self._heard = self._counts(summed)

    def agreed(self) -> list[protocol.Command]:
        heard, before = self._heard, self._obeyed
        if heard == before:
            return []
        self._obeyed = heard
        # What has come since the step began is for a later one.
        own = self._received[before[self._process] : heard[self._process]]
        said = self._share("".join(protocol.command_line(command).decode() for command in own))
        found: list[protocol.Command] = []
        for process, text in enumerate(said):
            lines = text.splitlines()
            commands = [c for line in lines if (c := protocol.parse_command(line)) is not None]
            # Only the first worker answers: the numbers of others' launchers mean nothing here.
            found += [replace(c, number=HEARD_OF) for c in commands] if process else commands
        return found
