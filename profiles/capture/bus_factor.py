"""The factor from a collective's algorithm bandwidth to its bus bandwidth, as nccl-tests has it.

Source: nccl-tests, PERFORMANCE.md. Bus bandwidth compares with what the hardware can do, whatever
the size of the group.
"""

from __future__ import annotations


def bus_factor(op: str, group_size: int) -> float | None:
    """f of busbw = algbw * f; None for an op that has no agreed one, and for a group of one."""
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
