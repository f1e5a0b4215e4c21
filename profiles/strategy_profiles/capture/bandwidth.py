"""Algorithm bandwidth and bus bandwidth of collectives.

Source: nccl-tests, doc/PERFORMANCE.md. Unlike algorithm bandwidth, bus bandwidth does not depend on
the size of the group and can be compared with the peak bandwidth of the hardware.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strategy_profiles.tables.columns import Floats, Ints


def bus_factor(op: str, group_size: int) -> float | None:
    """Return f in busbw = algbw * f.

    Returns None for an op for which nccl-tests defines no factor, and for a group of one.
    """
    if group_size <= 1:
        return None
    n = group_size
    scattered = (n - 1) / n
    return {
        "all-reduce": 2 * scattered,
        "reduce-scatter": scattered,
        "all-gather": scattered,
        "all-to-all": scattered,
        "broadcast": 1.0,
        "reduce": 1.0,
    }.get(op)


def bandwidth(
    num_bytes: float, transfer_s: float, op: str, group_size: int
) -> tuple[float | None, float | None]:
    """Return algbw = S / t and busbw = algbw * f in 10^9 bytes per second.

    Each is None if it is unknown: both without a time, the latter without a factor.
    """
    if not transfer_s > 0:
        return None, None
    algbw, factor = num_bytes / transfer_s / 1e9, bus_factor(op, group_size)
    return algbw, None if factor is None else algbw * factor


def bandwidths(
    num_bytes: Floats | Ints, transfer_s: Floats, ops: Sequence[str], group_sizes: Ints
) -> tuple[Floats, Floats]:
    """Return `bandwidth` of each row, NaN where it is unknown; a size below 0 is unknown."""
    known = (num_bytes >= 0) & (transfer_s > 0)
    algbw = np.divide(num_bytes / 1e9, transfer_s, where=known, out=np.full(len(ops), np.nan))
    kinds = list(zip(ops, group_sizes.tolist(), strict=True))
    factors = {kind: bus_factor(*kind) for kind in set(kinds)}
    return algbw, algbw * np.asarray([factors[kind] for kind in kinds], np.float64)
