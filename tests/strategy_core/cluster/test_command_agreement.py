"""Workers obey at the same step, whenever each of them heard of a command."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_core.cluster.command_agreement import CommandAgreement
from strategy_core.processes import protocol

COMMANDS = [protocol.Reconfigure(number, {"steps": number}) for number in range(4)]


@pytest.mark.slow
@given(
    arrivals=st.lists(
        st.lists(st.integers(0, 8), min_size=4, max_size=4).map(sorted), min_size=1, max_size=5
    ),
    replicas_per_worker=st.integers(1, 3),
)
def test_workers_obey_every_command_once_in_order_and_together(
    arrivals: list[list[int]], replicas_per_worker: int
) -> None:
    """`arrivals` says per worker at which step each of the commands reaches it."""
    num_workers = len(arrivals)
    workers = [CommandAgreement(rank, num_workers) for rank in range(num_workers)]
    obeyed: list[list[tuple[int, int]]] = [[] for _ in workers]
    for step in range(10):
        for rank, worker in enumerate(workers):
            due = zip(COMMANDS, arrivals[rank], strict=True)
            worker.receive([command for command, at in due if at == step])
            obeyed[rank] += [(step, command.number) for command in worker.agreed()]
        contributions = [worker.contribution() * replicas_per_worker for worker in workers]
        summed = np.sum(contributions, axis=0, dtype=np.float32)
        for worker in workers:
            worker.take_sum(summed.tolist())
    assert all(seen == obeyed[0] for seen in obeyed)
    assert [number for _, number in obeyed[0]] == [0, 1, 2, 3]
    last_heard = [max(times) for times in zip(*arrivals, strict=True)]
    assert all(step == heard + 1 for (step, _), heard in zip(obeyed[0], last_heard, strict=True))


def test_a_command_is_obeyed_only_if_every_worker_has_it() -> None:
    worker = CommandAgreement(0, 2)
    worker.receive(COMMANDS[:2])
    worker.take_sum([2.0, 1.0, 2.0])
    assert worker.agreed() == COMMANDS[:1]
    assert worker.agreed() == []
