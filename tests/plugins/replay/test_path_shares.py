"""What the critical path consists of, of steps with a known answer."""

from __future__ import annotations

import pytest

from strategy_replay.engine.path_shares import path_table
from tests.profiles.step_graph.drawn_steps import step_of
from tests.profiles.step_graph.test_critical_path import DIAMOND


def test_the_launch_gaps_of_all_ops_are_one_kind() -> None:
    shares = {item.kind: item for item in path_table(step_of(DIAMOND, gap_ns=3.0))}
    assert shares["launch gap"].total_ms == pytest.approx(4 * 3e-6)
    assert shares["launch gap"].num == 4
