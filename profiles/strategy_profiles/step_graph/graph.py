"""A captured step as a graph: nodes in topological order, with what each one waits for.

Times are nanoseconds since the step's start. A collective is two kinds of nodes: each member's
entry, and each member's exit, which waits for the entries of all members.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from strategy_profiles.tables.columns import Bools, Floats, Ints

HOST = "host"
END = "end"
"""Op of the last node: the host learns that the step is over."""
INPUT, TAKE = "wait for a batch", "take a batch"
"""Ops of the host's nodes: it waits for a batch; its own Python that takes one."""
ENTER = "enter"
"""Category of a collective's entry, which takes no time of its own."""
SMALL_BYTES = 1024
"""A collective up to this size is not of gradients: that of the loss and of counts."""
INLINE, WAKE, ENTRY, HOST_GAP, END_GAP, NO_GAP = range(6)
"""How a node is launched: by its thread, by another one, as its device's first, by the host."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """One entry per node; every node comes after all that it waits for."""

    start_ns: Floats
    end_ns: Floats
    op: list[str]
    """Type of the op."""
    name: list[str]
    category: list[str]
    """`compute`, `collective`, `transfer`, `input`, `delay`, `host` or `enter`."""
    replica: Ints
    """-1: none, as for the host."""
    device: list[str]
    thread: Ints
    demand: Floats
    """Cores that it uses while it runs, if they are free; 0 for what waits, sleeps or is moved."""
    launch: Ints
    bytes: Floats
    """What a collective or transfer moves, or another op outputs; NaN if unknown."""

    def __len__(self) -> int:
        return len(self.op)


@dataclass(frozen=True)
class StepGraph:
    """One captured step."""

    segment: int
    step: int
    wall_ns: float
    """Measured length of the step."""
    nodes: Nodes
    waits_for: tuple[tuple[int, ...], ...]
    """The nodes that each node waits for, all of them before it."""
    num_dropped: int = 0
    """Edges of the recorded graph that the recorded times contradict."""
    phases_ns: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """Of several workers: by replica the time from its batch to its gradients as `compute` and
    `delay`, and its `input`, from timestamps."""
    timed: frozenset[int] = frozenset()
    """Replicas whose ops are not recorded: each of their phases is one node."""

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def followers(self) -> tuple[tuple[int, ...], ...]:
        """The nodes that wait for each node."""
        following: list[list[int]] = [[] for _ in self.waits_for]
        for at, before in enumerate(self.waits_for):
            for each in before:
                following[each].append(at)
        return tuple(map(tuple, following))

    @cached_property
    def ready_ns(self) -> Floats:
        """When the last of what each node waits for had ended; 0 if it waits for nothing."""
        ends = self.nodes.end_ns.tolist()
        return np.array(
            [max([ends[each] for each in before], default=0.0) for before in self.waits_for]
        )

    @cached_property
    def gap_ns(self) -> Floats:
        """The recorded launch gap of each node: from being ready until its start."""
        gaps: Floats = np.maximum(self.nodes.start_ns - self.ready_ns, 0.0)
        return gaps

    @cached_property
    def is_timed(self) -> Bools:
        """Which nodes are phases of a replica whose ops are not recorded."""
        return np.isin(self.nodes.replica, list(self.timed))

    @cached_property
    def is_wait_for_batch(self) -> Bools:
        """Which nodes are the host's waits for a batch."""
        pairs = zip(self.nodes.category, self.nodes.op, strict=True)
        return np.array([pair == (HOST, INPUT) for pair in pairs])

    @property
    def length_ns(self) -> Floats:
        """The recorded length of each node."""
        lengths: Floats = self.nodes.end_ns - self.nodes.start_ns
        return lengths
