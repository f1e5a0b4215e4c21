"""The SPMD partitioner: an op on partitioned operands becomes an op per core on their tiles.

`partition` is the whole of what the rest knows. The rules live in one module per family of ops;
each gets the operands with their layouts and returns results with theirs, or raises `NoRule`. Then
the operands are gathered to core 0, the op runs there, and the report counts it as a fallback.
"""

from __future__ import annotations

from strategy_core.tpu.partitioner.dispatch import partition

__all__ = ["partition"]
