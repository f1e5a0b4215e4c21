"""Workers whose launchers do not know each other stop at the same step."""

from __future__ import annotations

import numpy as np
import pytest

from strategy_core.cluster.agreement import HEARD_OF, SharedStop
from strategy_core.processes import protocol


@pytest.mark.parametrize("replicas_per_worker", [1, 3])
def test_a_stop_that_one_worker_has_is_obeyed_by_all_once(replicas_per_worker: int) -> None:
    workers = [SharedStop(process, 3) for process in range(3)]

    def step() -> list[list[protocol.Command]]:
        summed = np.sum([w.told() * replicas_per_worker for w in workers], axis=0)
        for worker in workers:
            worker.hear(summed)
        return [list(worker.agreed()) for worker in workers]

    assert step() == [[], [], []]
    workers[1].receive([protocol.Stop(7)])
    assert [worker.agreed() for worker in workers] == [[], [], []]
    heard = protocol.Stop(HEARD_OF)
    assert step() == [[heard], [protocol.Stop(7)], [heard]]
    assert step() == [[], [], []]
