"""The moment that a film shows first, and what its caption says of waits without a known side."""

from __future__ import annotations

from strategy_film.captions import Captions
from strategy_film.poster import poster
from strategy_film.scene import Exchange, Member, Node, State

MS = 1_000_000
LENGTH = 30 * MS


def node(number: int, *states: tuple[int, int, str]) -> Node:
    parts = tuple(State(start * MS, end * MS, phase) for start, end, phase in states)
    return Node(f"replica {number}", f"CPU:{number}", 0, number, "measured", parts, ())


def captions_of(*nodes: Node) -> Captions:
    return Captions(LENGTH, nodes, (), (), ())


def test_a_wait_before_more_work_is_for_a_tensor() -> None:
    waits = node(0, (0, 10, "compute"), (10, 20, "wait"), (20, 30, "compute"))
    works = node(1, (0, 30, "compute"))
    texts = [text for _, text in captions_of(waits, works).all()]
    assert "Replica 0 waits for a tensor; replica 1 computes." in texts


def test_a_wait_after_the_last_op_is_for_the_others() -> None:
    waits = node(0, (0, 10, "compute"), (10, 30, "wait"))
    works = node(1, (0, 30, "compute"))
    texts = [text for _, text in captions_of(waits, works).all()]
    assert "Replica 0 waits for the others to end; replica 1 computes." in texts


def test_the_poster_is_a_moment_of_which_its_caption_is_true() -> None:
    """In the middle of the film replica 0 is an exception to what it does around it."""
    mostly = [(14.6, 14.9, "compute"), (14.9, 15.1, "wait"), (15.1, 15.4, "compute")]
    parts = [(0.0, 14.6, "wait"), *mostly, (15.4, 30.0, "wait")]
    first = Node(
        "replica 0", "CPU:0", 0, 0, "measured",
        tuple(State(int(a * MS), int(b * MS), phase) for a, b, phase in parts), (),
    )  # fmt: skip
    nodes = [first, node(1, (0, 30, "compute"))]
    captions = captions_of(*nodes).all()
    at = poster((), nodes, captions, LENGTH)
    text = [text for start, text in captions if start <= at][-1]
    phase = next(state.phase for state in first.states if state.start_ns <= at < state.end_ns)
    assert ("waits" in text) == (phase == "wait")
    assert abs(at - LENGTH // 2) < MS


def all_reduce(*entered_ms: float, end_ms: float) -> Exchange:
    members = tuple(
        Member(number, int(at * MS), int(end_ms * MS)) for number, at in enumerate(entered_ms)
    )
    return Exchange("all-reduce", 0, 1000, "measured", members, int(max(entered_ms) * MS), None)


def test_without_a_late_replica_the_poster_is_the_transfer_and_not_a_wait_of_a_moment() -> None:
    nodes = [
        node(0, (0, 20, "compute"), (20, 26, "transfer")),
        node(1, (0, 20, "compute"), (20, 26, "transfer")),
    ]
    joined = (all_reduce(20, 20.01, end_ms=26),)
    captions = Captions(LENGTH, nodes, joined, (), ()).all()
    at = poster(joined, nodes, captions, LENGTH)
    assert at == 23.005 * MS
    text = [text for start, text in captions if start <= at][-1]
    assert text == "The all-reduce of 1.00 kB runs between both replicas: 5.99 ms."
