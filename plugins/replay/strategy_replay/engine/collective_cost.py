"""What an algorithm needs for an all-reduce: messages that follow one another, and bytes.

For a ring of n devices these are 2(n-1) and 2(n-1)/n * S, for a binary tree 2 log2(n) and
2 log2(n) S (Thakur et al., "Optimization of Collective Communication Operations in MPICH", 2005).
"""

from __future__ import annotations

import math

from strategy_profiles.step_graph.recording import ReplayError

RING = "collective-ring"
ALGORITHMS = (RING, "nccl", "tree", "hierarchical-copy", "reduction-to-one-device")


def cost(algorithm: str, num_replicas: int, num_bytes: float) -> tuple[float, float]:
    """Return the messages that follow one another, and the bytes that pass the busiest device.

    Bytes in one direction at the same time as bytes in the other count once. Raises ReplayError for
    an algorithm without a model.
    """
    n = num_replicas
    if n <= 1:
        return 0.0, 0.0
    if algorithm in (RING, "nccl"):
        return 2.0 * (n - 1), 2.0 * (n - 1) / n * num_bytes
    if algorithm == "tree":
        levels = math.ceil(math.log2(n))
        return 2.0 * levels, 2.0 * levels * num_bytes
    if algorithm == "reduction-to-one-device":
        return 2.0 * (n - 1), 2.0 * (n - 1) * num_bytes  # in, then out
    if algorithm == "hierarchical-copy":
        # Into the first device of each half, between these two, and out.
        return float(n - 1), (n - 1.0) * num_bytes
    raise ReplayError(
        f"There is no model of the time that {algorithm!r} takes",
        advice=f"Predict one of {', '.join(ALGORITHMS)}",
    )
