"""Makes all workers of a cluster obey a command at the same step; otherwise they would deadlock.

Every worker receives every command, but not at the same moment. So the all-reduce of each step's
loss also carries the number of commands that each worker has received. A command is obeyed after
the step that shows that all workers have it, which all of them see in the same step.

Summing flags instead of counts would not work: one worker with two commands and one with none have
the same sum as two workers with one command each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from strategy_core.processes import protocol

FROM_PEER = 0
"""Number given to a command that another worker received."""


class CommandAgreement:
    """One worker's part of the agreement.

    Args:
      process: number of this worker.
      num_workers: number of workers, each with the same number of replicas.
    """

    def __init__(self, process: int, num_workers: int) -> None:
        self._process = process
        self._num_workers = num_workers
        self._received: list[protocol.Command] = []
        self._num_obeyed = 0
        self._num_agreed = 0
        self._contribution = self._make_contribution()

    def receive(self, commands: Sequence[protocol.Command]) -> None:
        """Add commands that reached this worker, in the order in which they were sent to all."""
        if commands:
            self._received.extend(commands)
            self._contribution = self._make_contribution()

    def contribution(self) -> npt.NDArray[np.float32]:
        """What each replica of this worker adds to the next step's sum: (num_workers + 1,).

        The last number counts the replicas.
        """
        return self._contribution

    def take_sum(self, summed: Sequence[float]) -> None:
        """Take the step's sum over all replicas: (num_workers + 1,)."""
        self._num_agreed = min(self._counts(summed))

    def agreed(self) -> list[protocol.Command]:
        """Commands to obey now because every worker has them; each is returned once."""
        ready = self._received[self._num_obeyed : self._num_agreed]
        self._num_obeyed = max(self._num_obeyed, self._num_agreed)
        return ready

    def _make_contribution(self) -> npt.NDArray[np.float32]:
        counts = np.zeros(self._num_workers + 1, np.float32)
        counts[self._process], counts[-1] = len(self._received), 1
        return counts

    def _counts(self, summed: Sequence[float]) -> list[int]:
        """Number of commands that each worker has; each of its replicas has added that number."""
        *counts, num_replicas = summed
        return [round(count * self._num_workers / num_replicas) for count in counts]


class SharedCommands(CommandAgreement):
    """Agreement between workers with separate launchers.

    A command reaches only one of the workers. The step shows all workers that there is one. Right
    after the step they exchange their commands and obey them.

    Args:
      share: sends a text to all workers and returns the texts of all by process number. All workers
        call it at the same time, and only if there is something to share.
    """

    def __init__(
        self, process: int, num_workers: int, share: Callable[[str], Sequence[str]]
    ) -> None:
        super().__init__(process, num_workers)
        self._share = share
        self._summed_counts = self._obeyed = [0] * num_workers

    def take_sum(self, summed: Sequence[float]) -> None:
        self._summed_counts = self._counts(summed)

    def agreed(self) -> list[protocol.Command]:
        counts, before = self._summed_counts, self._obeyed
        if counts == before:
            return []
        self._obeyed = counts
        # Commands received after the step began are left for a later step.
        own = self._received[before[self._process] : counts[self._process]]
        said = self._share("".join(protocol.command_line(command).decode() for command in own))
        agreed: list[protocol.Command] = []
        for process, text in enumerate(said):
            lines = text.splitlines()
            commands = [c for line in lines if (c := protocol.parse_command(line)) is not None]
            # Only the first worker answers commands: other launchers' numbers have no meaning here.
            agreed += [replace(c, number=FROM_PEER) for c in commands] if process else commands
        return agreed
