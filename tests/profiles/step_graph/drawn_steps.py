"""Steps drawn by hand or by chance, as graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from strategy_profiles.step_graph.graph import END_GAP, WAKE, Nodes, StepGraph
from strategy_profiles.tables.columns import Floats

Drawn = tuple[float, tuple[int, ...]]
"""Length of a node in ns, and the nodes that it waits for."""
Runs = Callable[[StepGraph, Floats, Floats], tuple[Floats, Floats]]
"""Start and end of each node of a step, by its length and its launch gap."""


def each_on_a_core(step: StepGraph, lengths: Floats, gaps: Floats) -> tuple[Floats, Floats]:
    """Start and end of each node on a machine with a core for each."""
    starts, ends = np.zeros(len(step)), np.zeros(len(step))
    for at, before in enumerate(step.waits_for):
        starts[at] = max((ends[each] for each in before), default=0.0) + gaps[at]
        ends[at] = starts[at] + lengths[at]
    return starts, ends


def step_of(
    drawn: Sequence[Drawn],
    categories: Sequence[str] = (),
    replicas: Sequence[int] = (),
    step: int = 0,
    gap_ns: float = 0.0,
    runs: Runs = each_on_a_core,
) -> StepGraph:
    """Return the step as a machine that runs it so would have recorded it."""
    size = len(drawn)
    waits_for = [before for _, before in drawn]
    awaited = {each for before in waits_for for each in before}
    waits_for.append(tuple(at for at in range(size) if at not in awaited))
    kinds = [*(categories or ["compute"] * size), "host"]
    lengths = np.array([*(length for length, _ in drawn), 0.0])
    on_core = [float(kind in ("compute", "input")) for kind in kinds]
    nodes = Nodes(
        start_ns=np.zeros(size + 1),
        end_ns=np.zeros(size + 1),
        op=[*(f"Op{at}" for at in range(size)), "end"],
        name=[*(f"op{at}" for at in range(size)), "end"],
        category=kinds,
        replica=np.array([*(replicas or [0] * size), -1]),
        device=["/device:CPU:0"] * (size + 1),
        thread=np.arange(size + 1),
        demand=np.array(on_core),
        launch=np.array([*[WAKE] * size, END_GAP]),
        bytes=np.full(size + 1, np.nan),
    )
    blank = StepGraph(0, step, 0.0, nodes, tuple(waits_for))
    nodes.start_ns[:], nodes.end_ns[:] = runs(blank, lengths, np.full(size + 1, gap_ns))
    return StepGraph(0, step, float(nodes.end_ns[-1]), nodes, tuple(waits_for))


@st.composite
def drawn_steps(draw: st.DrawFn) -> list[Drawn]:
    """A step of up to twenty nodes, each waiting for any of those before it."""
    size = draw(st.integers(1, 20))
    lengths = draw(st.lists(st.integers(0, 10_000), min_size=size, max_size=size))
    drawn_ops = []
    for at, length in enumerate(lengths):
        before = draw(st.sets(st.integers(0, at - 1), max_size=3)) if at else set()
        drawn_ops.append((float(length), tuple(sorted(before))))
    return drawn_ops
