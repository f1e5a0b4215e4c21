"""Workers of a cluster obey a command at the same step, or one would wait for another for ever.

Every worker is sent every command, but not at the same moment. So each step carries, in the same
all-reduce as its loss, how many commands every worker has received so far: a command is obeyed
after the step that shows that all of them have it, and all see that in the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from strategy_core.processes import protocol

HEARD_OF = 0
"""Number of a command that was sent to a peer."""


class Agreement:
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

    def hear(self, summed: npt.NDArray[np.floating[Any]]) -> None:
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

    def _counts(self, summed: npt.NDArray[np.floating[Any]]) -> list[int]:
        """Commands that each worker has: every one of its replicas added them."""
        # Plain numbers: after every step, arrays of three would take longer.
        *counts, num_replicas = summed.tolist()
        return [round(count * self._num_workers / num_replicas) for count in counts]


class SharedStop(Agreement):
    """The same between workers whose launchers do not know each other.

    Stop is the only command that one of them can be sent, and one that has it is enough: all see
    it in the same step, and stop there.
    """

    def hear(self, summed: npt.NDArray[np.floating[Any]]) -> None:
        self._num_agreed = max(self._counts(summed))

    def agreed(self) -> list[protocol.Command]:
        is_new = self._num_agreed > self._num_obeyed
        self._num_obeyed = max(self._num_obeyed, self._num_agreed)
        if not is_new:
            return []
        own = [command for command in self._received if isinstance(command, protocol.Stop)]
        return [own[0] if own else protocol.Stop(HEARD_OF)]
