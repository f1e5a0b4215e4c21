"""The critical path and slack of steps with a known answer."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from strategy_profiles.step_graph.critical_path import critical_path, slack_ns
from tests.profiles.step_graph.drawn_steps import Drawn, drawn_steps, each_on_a_core, step_of

DIAMOND: list[Drawn] = [(10.0, ()), (30.0, (0,)), (20.0, (0,)), (5.0, (1, 2))]


def test_the_path_of_a_diamond_takes_its_longer_side() -> None:
    assert [piece.op for piece in critical_path(step_of(DIAMOND))] == ["Op0", "Op1", "Op3"]


def test_only_the_shorter_side_has_slack() -> None:
    assert slack_ns(step_of(DIAMOND)).tolist() == pytest.approx([0, 0, 10, 0, 0])


def test_launch_gaps_are_a_kind_of_their_own() -> None:
    pieces = critical_path(step_of(DIAMOND, gap_ns=3.0))
    gaps = [piece.length_ns for piece in pieces if piece.kind == "launch gap"]
    assert gaps == pytest.approx([3.0] * 4)


@pytest.mark.slow
@given(drawn_steps())
def test_the_pieces_cover_the_step_without_overlap(drawn: list[Drawn]) -> None:
    step = step_of(drawn, gap_ns=2.0)
    pieces = critical_path(step)
    assert sum(piece.length_ns for piece in pieces) == pytest.approx(step.wall_ns)
    for before, piece in pairwise(pieces):
        assert piece.start_ns == pytest.approx(before.end_ns)


@pytest.mark.slow
@given(drawn_steps())
def test_using_an_ops_slack_leaves_the_step_as_long(drawn: list[Drawn]) -> None:
    step = step_of(drawn)
    slack = slack_ns(step)
    for at in range(len(drawn)):
        longer = step.length_ns.copy()
        longer[at] += slack[at]
        _, ends = each_on_a_core(step, longer, step.gap_ns)
        assert ends[-1] == pytest.approx(step.wall_ns)
