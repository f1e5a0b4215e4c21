"""Whose times the table of collectives has."""

from __future__ import annotations

import pytest

from strategy_profiles.analysis.collective_calls import CollectiveCall, ReplicaCall
from strategy_profiles.questions.communication import whose_times


def call(group_size: int | None, *replicas: int) -> CollectiveCall:
    known = tuple(ReplicaCall(replica, 1.0, 2.0) for replica in replicas)
    times = (1.0, 2.0, None, None, "measured", "derived", known)
    return CollectiveCall("gather", "concat", 1, None, group_size, 1.0, 8.0, *times)


def test_replicas_of_processes_without_ops_are_left_out_and_said() -> None:
    assert whose_times([call(4, 0, 1)], num_replicas=4).startswith(
        "Wait, transfer and bandwidths are those of replicas 0 and 1: "
    )


@pytest.mark.parametrize("group_size", [4, 5, None])
def test_a_coordinator_in_the_group_is_no_replica_without_times(group_size: int | None) -> None:
    assert whose_times([call(group_size, 0, 1, 2, 3)], num_replicas=4) == ""
