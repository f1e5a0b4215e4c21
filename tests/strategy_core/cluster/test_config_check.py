"""Hosts with different requests report the host and the difference."""

from __future__ import annotations

import json

import pytest

from strategy_core.cluster.config_check import asked_here, check_same
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec

SPEC = RunSpec(strategy="multi-worker-mirrored", workers=3, global_batch_size=6)


def test_equal_hosts_pass_the_check() -> None:
    check_same([asked_here(SPEC, "2.21.0")] * 3)


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        (asked_here(SPEC, "2.20.0"), "0 has TensorFlow '2.21.0', worker 2 has TensorFlow '2.20.0'"),
        (
            asked_here(SPEC.with_changes({"seed": 7}), "2.21.0"),
            "worker 0 has seed 0, worker 2 has seed 7",
        ),
    ],
)
def test_a_difference_between_hosts_is_named(other: str, problem: str) -> None:
    own = asked_here(SPEC, "2.21.0")
    with pytest.raises(SpecError, match=problem):
        check_same([own, own, other])


def test_a_different_workload_file_of_the_same_name_is_named() -> None:
    own = json.loads(asked_here(SPEC, "2.21.0"))
    other = own | {"the workload's file": "other"}
    with pytest.raises(SpecError, match="the workload's file 'other'"):
        check_same([json.dumps(own), json.dumps(other)])
