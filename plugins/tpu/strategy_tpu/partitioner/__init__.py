"""The SPMD partitioner: converts an op on partitioned operands to one op per core on their tiles.

`partition` is its only public function. The rules are in one module per group of ops. A rule gets
the operands with their layouts and returns results with theirs, or raises `NoRule`. In that case
the operands are gathered to core 0, the op runs there, and the report counts it as a fallback. No
device is chosen here: cores are numbers, which the caller maps to devices.

What does not work instead (docs/decisions/training.md): XLA on the CPU keeps the annotations
of a partitioned program and runs it as one unpartitioned op on one device. DTensor splits no
convolution on the CPU ("Halo exchange is only supported on TPU"), and splits no axis of a tensor by
two axes of its mesh.
"""

from __future__ import annotations

from strategy_tpu.partitioner.dispatch import partition

__all__ = ["partition"]
