"""A step with repeated replicas: who waits for whom, and how long it takes."""

from __future__ import annotations

import numpy as np
import pytest

from strategy_profiles.step_graph.graph import StepGraph
from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.simulate import simulate
from strategy_replay.scaling.with_replicas import with_replicas
from tests.plugins.replay.drawn_steps import step_of

MS = 1e6


def step(cores: float = np.inf) -> StepGraph:
    """The host for 1 ms, 10 ms of each of two replicas, and a collective of 2 ms."""
    drawn = [
        (1 * MS, ()),
        (10 * MS, (0,)),
        (10 * MS, (0,)),
        (0.0, (1,)),
        (0.0, (2,)),
        (2 * MS, (3, 4)),
        (2 * MS, (3, 4)),
    ]
    kinds = ["host", "compute", "compute", "enter", "enter", "collective", "collective"]
    return step_of(drawn, cores, kinds, [-1, 0, 1, 0, 1, 0, 1])


def length_ms(graph: StepGraph, taken: list[int], cores: float) -> float:
    work = np.array([1, 10, 10, 0, 0, 2, 2, 0]) * MS
    return simulate(graph, work[taken], np.zeros(len(taken)), cores).length_ns / MS


def test_as_many_replicas_as_recorded_are_the_step_itself() -> None:
    graph, taken = with_replicas(step(), 2)
    assert taken == list(range(len(step())))
    assert graph.waits_for == step().waits_for


def test_every_exit_waits_for_the_entries_of_all_replicas() -> None:
    graph, _ = with_replicas(step(), 5)
    nodes = graph.nodes
    exits = [at for at, kind in enumerate(nodes.category) if kind == "collective"]
    assert len(exits) == 5
    for at in exits:
        assert {int(nodes.replica[each]) for each in graph.waits_for[at]} == {0, 1, 2, 3, 4}
    assert set(graph.waits_for[-1]) == set(exits)


def test_a_node_comes_after_all_that_it_waits_for() -> None:
    graph, _ = with_replicas(step(), 8)
    assert all(each < at for at, before in enumerate(graph.waits_for) for each in before)


@pytest.mark.parametrize(("number", "took_ms"), [(2, 13.0), (4, 23.0), (8, 43.0)])
def test_replicas_share_two_cores(number: int, took_ms: float) -> None:
    graph, taken = with_replicas(step(2.0), number)
    assert length_ms(graph, taken, 2.0) == pytest.approx(took_ms)


@pytest.mark.parametrize("number", [2, 8])
def test_with_a_core_each_they_take_as_long_as_two(number: int) -> None:
    graph, taken = with_replicas(step(), number)
    assert length_ms(graph, taken, np.inf) == pytest.approx(13.0)


def test_fewer_than_recorded_are_refused() -> None:
    with pytest.raises(ReplayError, match="2 replicas cannot be repeated to 1"):
        with_replicas(step(), 1)
