"""The factor from a collective's algorithm bandwidth to its bus bandwidth.

Source: nccl-tests, doc/PERFORMANCE.md. Unlike algorithm bandwidth, bus bandwidth does not depend on
the size of the group and can be compared with the peak bandwidth of the hardware.
"""

from __future__ import annotations


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
