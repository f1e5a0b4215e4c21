"""What differences between replicas cost, of steps with a known answer."""

from __future__ import annotations

import pytest

from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.whatif.slowdowns import slowdowns
from tests.plugins.replay.test_timed_edits import late_worker
from tests.plugins.replay.test_what_if import late_step, replays_of


def test_slowdowns_name_the_late_replica_and_its_delay() -> None:
    slowed = slowdowns(replays_of([late_step(number) for number in range(4)]))
    # Each op is of one replica alone, so an ideal one takes half: 5 + 5 + 15 + 1 ms of 47.
    assert slowed.whole == pytest.approx(47 / 26)
    assert slowed.by_replica[1] == pytest.approx(47 / 26)
    assert slowed.by_replica[0] == pytest.approx(27 / 26)
    assert next(iter(slowed.by_op)) == "Op3"


def test_the_cost_of_each_type_of_op_is_refused_without_the_ops_of_all() -> None:
    with pytest.raises(ReplayError, match="ops of the other workers are not recorded"):
        slowdowns(replays_of([late_worker(number) for number in range(6)]))
