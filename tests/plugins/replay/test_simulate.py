"""The simulator: steps with a known answer, and what holds for every step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_replay.engine.simulate import own_work, simulate
from tests.plugins.replay.drawn_steps import step_of
from tests.profiles.step_graph.drawn_steps import Drawn, drawn_steps

DIAMOND: list[Drawn] = [(10.0, ()), (30.0, (0,)), (20.0, (0,)), (5.0, (1, 2))]
CORES = st.sampled_from([1.0, 2.0, 4.0, np.inf])


@pytest.mark.parametrize(
    ("cores", "length_ns"),
    [
        (np.inf, 45.0),  # 10 + 30 + 5
        (2.0, 45.0),
        (1.0, 65.0),  # one core does all the work: 10 + 30 + 20 + 5
    ],
)
def test_a_diamond_takes_its_longest_way_or_all_its_work(cores: float, length_ns: float) -> None:
    assert step_of(DIAMOND, cores).wall_ns == pytest.approx(length_ns)


def test_two_ops_on_one_core_run_at_half_speed_until_the_shorter_ends() -> None:
    step = step_of([(10.0, ()), (30.0, ())], cores=1.0)
    assert step.nodes.end_ns.tolist() == pytest.approx([20.0, 40.0, 40.0])


def test_a_transfer_needs_no_core() -> None:
    step = step_of([(10.0, ()), (10.0, ())], cores=1.0, categories=["compute", "transfer"])
    assert step.wall_ns == pytest.approx(10.0)


def test_launch_gaps_add_up_along_the_way() -> None:
    assert step_of(DIAMOND, gap_ns=3.0).wall_ns == pytest.approx(45.0 + 4 * 3.0)


@given(drawn_steps(), CORES)
def test_without_an_edit_the_recorded_step_comes_out(drawn: list[Drawn], cores: float) -> None:
    step = step_of(drawn, cores, gap_ns=7.0)
    again = simulate(step, own_work(step, cores), step.gap_ns, cores)
    assert again.start_ns == pytest.approx(step.nodes.start_ns, abs=1e-3)
    assert again.end_ns == pytest.approx(step.nodes.end_ns, abs=1e-3)


@pytest.mark.slow
@given(drawn_steps(), CORES)
def test_the_work_of_each_op_is_found_again(drawn: list[Drawn], cores: float) -> None:
    step = step_of(drawn, cores)
    known = [*(length for length, _ in drawn), 0.0]
    assert own_work(step, cores) == pytest.approx(known, abs=1e-3)


@pytest.mark.slow
@given(drawn_steps(), st.data())
def test_a_faster_op_never_makes_the_step_longer(drawn: list[Drawn], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(drawn) - 1))
    step = step_of(drawn)
    work = own_work(step, np.inf)
    work[at] /= data.draw(st.integers(1, 100))
    assert simulate(step, work, step.gap_ns, np.inf).length_ns <= step.wall_ns + 1e-6


@pytest.mark.slow
@given(drawn_steps(), CORES)
def test_a_step_is_no_shorter_than_its_longest_way_and_its_share_of_the_work(
    drawn: list[Drawn], cores: float
) -> None:
    step = step_of(drawn, cores)
    assert step.wall_ns >= step_of(drawn).wall_ns - 1e-6
    assert step.wall_ns >= sum(length for length, _ in drawn) / cores - 1e-6
