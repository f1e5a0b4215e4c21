"""The copies of an op on the other replicas, whatever TensorFlow called them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from strategy_profiles.tables.store import load
from strategy_profiles.timeline import Timeline, lay_out
from strategy_profiles.timeline.same_op import same_op
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    run = tmp_path_factory.mktemp("runs") / "one"
    return lay_out(load(write_run(run, steps=20, windows=1, straggler=(2, 30.0))))


def first_row(timeline: Timeline, replica: int) -> int:
    return next(track.first_row for track in timeline.tracks if track.replica == replica)


def named(timeline: Timeline, names: Sequence[Sequence[str]]) -> Timeline:
    """The timeline with the first ops of each replica's first row renamed, all of one type."""
    every, name, op = [*timeline.names], timeline.name.copy(), timeline.op.copy()
    for replica, own in enumerate(names):
        first = timeline.row_starts[first_row(timeline, replica)]
        for at, text in enumerate(own, int(first)):
            every.append(text)
            name[at], op[at] = len(every) - 1, 0
    return replace(timeline, names=every, name=name, op=op)


def names_of_copies(timeline: Timeline, replica: int, position: int) -> list[str]:
    row = first_row(timeline, replica)
    start = int(timeline.start[timeline.row_starts[row] + position])
    ops = []
    for copy in same_op(timeline, row, start):
        own = np.arange(timeline.row_starts[copy.row], timeline.row_starts[copy.row + 1])
        (at,) = own[timeline.start[own] == copy.start_ns]
        ops.append(timeline.names[timeline.name[at]])
    return ops


def test_a_copy_is_found_on_every_replica_the_late_one_included(timeline: Timeline) -> None:
    links = timeline.links
    of_first = np.flatnonzero(links["row"] == first_row(timeline, 0))[0]
    spans = same_op(timeline, int(links["row"][of_first]), int(links["start"][of_first]))
    assert [copy.row for copy in spans] == [first_row(timeline, replica) for replica in range(4)]
    assert [copy.waited_ns > 25e6 for copy in spans] == [True, True, False, True]


@pytest.mark.parametrize(
    "names",
    [
        [["conv/Add", "conv/Add_1"], ["replica_1/conv/Add", "replica_1/conv/Add_1"]],
        [["adam/update/Add", "adam/update/Add_1"], ["adam/update_1/Add", "adam/update_1/Add_1"]],
        [["Reduce", "Reduce_2"], ["Reduce_1", "Reduce_3"]],
        [
            ["adam/update_0/Add", "adam/update_0_1/Add"],
            ["adam/update_1/Add", "adam/update_1_1/Add"],
        ],
        [["batch/_3", "batch_2/_7"], ["batch_1/_9", "batch_3/_8"]],
    ],
)
def test_names_that_number_replicas_and_ops_alike_are_distinguished(
    timeline: Timeline, names: list[list[str]]
) -> None:
    renamed = named(timeline, names)
    assert names_of_copies(renamed, 0, 0) == [names[0][0], names[1][0]]
    assert names_of_copies(renamed, 1, 1) == [names[0][1], names[1][1]]


def test_an_op_with_a_tenth_copy_keeps_the_order_of_numbers(timeline: Timeline) -> None:
    own = ["Add", *(f"Add_{number}" for number in range(1, 12))]
    other = [f"replica_1/{name}" for name in own]
    renamed = named(timeline, [own, other])
    assert names_of_copies(renamed, 0, 10) == ["Add_10", "replica_1/Add_10"]


def test_nothing_is_found_where_no_span_starts(timeline: Timeline) -> None:
    assert same_op(timeline, 0, -1) == []


def test_an_op_that_one_replica_has_is_alone(timeline: Timeline) -> None:
    renamed = named(timeline, [["only/here"]])
    assert names_of_copies(renamed, 0, 0) == ["only/here"]
