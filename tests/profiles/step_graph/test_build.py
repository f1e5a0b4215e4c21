"""What a node of a step's graph waits for, where recorded times overlap a little."""

from __future__ import annotations

from strategy_profiles.step_graph.build import _graph
from strategy_profiles.step_graph.step_event import Event

MS = 1e6


def test_what_takes_a_collectives_result_may_start_before_its_recorded_end() -> None:
    reduce = Event(1 * MS, 3.0 * MS, "all-reduce", "reduce", "collective")
    split = Event(2.8 * MS, 2.9 * MS, "SplitV", "split", "compute", before=[reduce])
    graph = _graph(0, 0, 3.2 * MS, [reduce, split], 2.0)
    assert graph.waits_for[1] == (0,)
    assert graph.nodes.end_ns[0] == 2.8 * MS
    assert graph.num_dropped == 0


def test_an_op_that_ends_long_after_another_starts_was_not_waited_for() -> None:
    before = Event(1 * MS, 3.0 * MS, "MatMul", "a", "compute")
    after = Event(2.8 * MS, 2.9 * MS, "Relu", "b", "compute", before=[before])
    graph = _graph(0, 0, 3.2 * MS, [before, after], 2.0)
    assert graph.waits_for[1] == ()
    assert graph.num_dropped == 1
