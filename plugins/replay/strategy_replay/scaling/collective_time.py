"""How long a collective takes: latency per message, time per byte, and a fixed part (alpha-beta).

    t = fixed + messages(n) * latency + moved(n, S) * seconds_per_byte

`messages` and `moved` are those of `strategy_replay.engine.collective_cost`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_profiles.tables.columns import Floats
from strategy_replay.engine.collective_cost import cost
from strategy_replay.scaling.errors import PredictionError


@dataclass(frozen=True, slots=True)
class Observed:
    """What the all-reduces of a step took, all ranks being there."""

    num_replicas: int
    bytes: float
    ms: float


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """A fitted or described model. Times in ms."""

    algorithm: str
    fixed_ms: float
    latency_ms: float
    ms_per_byte: float
    residual: float
    """Largest relative difference from what it was fitted to; 0 with a single observation."""
    num_observed: int
    """Numbers of replicas that it was fitted to."""

    def ms(self, num_replicas: int, num_bytes: float) -> float:
        """Return the time of an all-reduce; 0 for one replica."""
        if num_replicas <= 1:
            return 0.0
        messages, moved = cost(self.algorithm, num_replicas, num_bytes)
        return self.fixed_ms + messages * self.latency_ms + moved * self.ms_per_byte


def fit(algorithm: str, observed: Sequence[Observed]) -> CollectiveTime:
    """Fit the model to observations of groups of two or more.

    Of one number of replicas and one size, all is counted as time per byte: what that leaves open
    belongs to the interval of a prediction. More observations are fitted by least squares of the
    relative error, no part below 0, with as few parts as fit equally well.
    """
    known = [item for item in observed if item.num_replicas > 1 and item.ms > 0]
    if not known:
        raise PredictionError("No collective of two or more replicas was recorded to fit")
    rows = [(*cost(algorithm, item.num_replicas, item.bytes), item.ms) for item in known]
    # In order of preference: bytes, messages, fixed.
    columns = np.array([[moved, messages, 1.0] for messages, moved, _ in rows])
    times = np.array([ms for *_, ms in rows])
    parts, error = _least_squares(columns / times[:, None])
    sizes = {(item.num_replicas, item.bytes) for item in known}
    return CollectiveTime(
        algorithm,
        fixed_ms=float(parts[2]),
        latency_ms=float(parts[1]),
        ms_per_byte=float(parts[0]),
        residual=error if len(sizes) > 1 else 0.0,
        num_observed=len({item.num_replicas for item in known}),
    )


def _least_squares(columns: Floats) -> tuple[Floats, float]:
    """Return non-negative parts with `columns @ parts` near 1, and the largest error.

    Three columns have seven subsets: all are tried (non-negative least squares by enumeration).
    """
    best, least, most_off = np.zeros(3), np.inf, np.inf
    for size in (1, 2, 3):
        for chosen in itertools.combinations(range(3), size):
            if size > len(columns):
                continue
            taken = columns[:, chosen]
            factors, *_ = np.linalg.lstsq(taken, np.ones(len(columns)), rcond=None)
            off = taken @ factors - 1
            squares = float(off @ off)
            if (factors >= 0).all() and squares < 0.98 * least - 1e-12:
                best, least, most_off = np.zeros(3), squares, float(np.abs(off).max())
                best[list(chosen)] = factors
    return best, most_off
