"""Workers whose launchers do not know each other obey the same commands at the same step."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from strategy_core.cluster.command_agreement import FROM_PEER, SharedCommands
from strategy_core.processes import protocol

NUM_WORKERS = 3
CHANGE = {"global_batch_size": 48}


class Hosts:
    """Workers that do a step together; each has a thread where they tell each other something."""

    def __init__(self, replicas_per_worker: int = 1) -> None:
        self.num_shared = 0
        self._replicas = replicas_per_worker
        self._said = [""] * NUM_WORKERS
        self._all_there = threading.Barrier(NUM_WORKERS)
        self.workers = [
            SharedCommands(number, NUM_WORKERS, lambda text, n=number: self._share(n, text))
            for number in range(NUM_WORKERS)
        ]

    def step(self) -> list[list[protocol.Command]]:
        """What each of them obeys after it."""
        self.summed()
        return self.agreed()

    def summed(self) -> None:
        summed = np.sum([w.contribution() * self._replicas for w in self.workers], axis=0)
        for worker in self.workers:
            worker.take_sum(summed.tolist())

    def agreed(self) -> list[list[protocol.Command]]:
        commands_of_worker: list[list[protocol.Command]] = [[]] * NUM_WORKERS

        def ask(number: int) -> None:
            commands_of_worker[number] = self.workers[number].agreed()

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(NUM_WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return commands_of_worker

    def _share(self, number: int, text: str) -> Sequence[str]:
        self._said[number] = text
        self.num_shared += 1
        self._all_there.wait()
        said = list(self._said)
        self._all_there.wait()
        return said


@pytest.mark.parametrize("replicas_per_worker", [1, 3])
def test_a_stop_that_one_worker_has_is_obeyed_by_all_once(replicas_per_worker: int) -> None:
    hosts = Hosts(replicas_per_worker)
    assert hosts.step() == [[], [], []]
    hosts.workers[1].receive([protocol.Stop(7)])
    assert hosts.agreed() == [[], [], []]
    heard = protocol.Stop(FROM_PEER)
    assert hosts.step() == [[heard]] * 3
    assert hosts.step() == [[], [], []]
    assert hosts.num_shared == 3, "without a command, workers share nothing"


def test_a_change_reaches_all_with_its_number_and_those_of_others_in_one_order() -> None:
    hosts = Hosts()
    hosts.workers[0].receive([protocol.Reconfigure(1, CHANGE), protocol.Reconfigure(2, {"a": "ü"})])
    hosts.workers[2].receive([protocol.Stop(9)])
    expected = [
        protocol.Reconfigure(1, CHANGE),
        protocol.Reconfigure(2, {"a": "ü"}),
        protocol.Stop(FROM_PEER),
    ]
    assert hosts.step() == [expected] * 3


def test_a_command_received_during_a_step_is_obeyed_after_the_next() -> None:
    hosts = Hosts()
    hosts.workers[0].receive([protocol.Reconfigure(1, CHANGE)])
    hosts.summed()
    hosts.workers[0].receive([protocol.Stop(2)])
    assert hosts.agreed() == [[protocol.Reconfigure(1, CHANGE)]] * 3
    assert hosts.step() == [[protocol.Stop(2)]] * 3
