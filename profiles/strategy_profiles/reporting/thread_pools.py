"""TensorFlow's thread pools in words."""

from __future__ import annotations

from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import Threads

_BY_TENSORFLOW = "TensorFlow's choice, one for each core"


def thread_pools(threads: Threads | None) -> tuple[tuple[str, str | None], ...]:
    """Return label and value of each pool; None if it is not recorded."""
    inter_op, intra_op = (threads.inter_op, threads.intra_op) if threads else (None, None)
    return (
        ("Inter-op threads (run ops)", _size(inter_op)),
        ("Intra-op threads (share the work of one op)", _size(intra_op)),
    )


def _size(num_threads: int | None) -> str | None:
    if num_threads is None:
        return None
    return str(num_threads) if num_threads else _BY_TENSORFLOW


def set_pools(inter_op: int, intra_op: int) -> list[str]:
    """`1 inter-op thread`: the pools whose size the program has set."""
    sizes = {"inter-op": inter_op, "intra-op": intra_op}
    return [units.counted(n, f"{name} thread") for name, n in sizes.items() if n]
