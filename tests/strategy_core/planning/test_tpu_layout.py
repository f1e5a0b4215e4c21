"""A TPU's layout is checked by the text alone, at the earliest moment."""

from __future__ import annotations

import pytest

from strategy_core.planning.spec_rules import check_fields, num_replicas
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import parse_spec


def test_replicas_are_groups_of_cores() -> None:
    spec = parse_spec({"strategy": "tpu", "devices": "cpu:8", "tpu": {"cores_per_replica": 4}})
    assert num_replicas(spec) == 2


def test_strategies_other_than_tpu_have_no_cores() -> None:
    spec = parse_spec({"strategy": "mirrored", "devices": "cpu:8", "tpu": {"cores_per_replica": 4}})
    assert num_replicas(spec) == 8


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"cores_per_replica": 3}, "8 cores cannot be divided into replicas of 3"),
        ({"topology": [2, 2, 1, 1]}, "has 4 cores, but the run has 8"),
        ({"topology": [2, 2, 2]}, "topology"),
        ({"split_axis": -1}, "split_axis"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(layout: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        check_fields(parse_spec({"strategy": "tpu", "devices": "cpu:8", "tpu": layout}))
