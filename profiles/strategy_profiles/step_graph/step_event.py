"""A node of a step's graph while it is made, and how many cores it uses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from strategy_profiles.step_graph.graph import ENTER, HOST, NO_GAP, WAKE

_PARALLEL_NS = 100_000
"""TensorFlow splits an op of this length over the threads of all cores (Eigen's thread pool)."""
_NO_CORE = ("delay", "collective", "input", HOST)


@dataclass(slots=True)
class Event:
    """A node of the graph to be."""

    start: float
    end: float
    op: str
    name: str
    category: str
    replica: int = -1
    device: str = ""
    thread: int = -1
    launch: int = WAKE
    bytes: float = np.nan
    node: int = -1
    """Index in the recorded graph."""
    function: int = -1
    demand: float | None = None
    """Cores that it uses; None: by its category and length."""
    before: list[Event] = field(default_factory=list)
    at: int = -1
    """Its number in the step's graph."""


def demand_of(event: Event, cores: float) -> float:
    """Return how many cores an event uses while it runs, if they are free."""
    if event.demand is not None:
        return event.demand
    if event.category in (*_NO_CORE, ENTER) or event.launch == NO_GAP:
        return 0.0
    is_parallel = event.end - event.start >= _PARALLEL_NS and np.isfinite(cores)
    return cores if is_parallel else 1.0
