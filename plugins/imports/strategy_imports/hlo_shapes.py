"""Sizes of the results of HLO instructions, from their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strategy_profiles.capture.kernel_names import collective_of

_BITS = {
    **dict.fromkeys((1, 2, 6, 19, 20, 23, 24, 25, 28, 29, 33), 8),
    **dict.fromkeys((3, 7, 10, 16), 16),
    **dict.fromkeys((4, 8, 11), 32),
    **dict.fromkeys((5, 9, 12, 15), 64),
    18: 128,
    **dict.fromkeys((21, 22, 32), 4),
    **dict.fromkeys((26, 27), 2),
    **dict.fromkeys((30, 31), 1),
}
"""By `PrimitiveType` of xla_data.proto. Tuples, tokens and opaque types have no size of their own.
"""
_LARGEST = 2**61
_MOST_PARTS = 10_000


def bytes_of(shape: Any) -> int:
    """Return the size of a tensor, or of all tensors of a tuple; -1 if there is none."""
    sizes = [size for size in _sizes(shape) if size >= 0]
    return min(sum(sizes), _LARGEST) if sizes else -1


def collective_bytes(opcode: str, shape: Any, operands: Sequence[int]) -> int:
    """Return the size S of a collective as nccl-tests counts it; -1 if it is not a collective.

    `operands` are the sizes of what it takes.

    S of a reduce-scatter is its operand, S of the others their result. The start of an all-gather
    or a permutation returns operand and result.
    """
    op = collective_of(opcode)
    if op is None or opcode.endswith("-done"):
        return -1
    if op == "reduce-scatter":
        return min(sum(operands), _LARGEST) if min(operands, default=-1) >= 0 else -1
    is_pair = opcode in ("all-gather-start", "collective-permute-start")
    if is_pair and len(shape.tuple_shapes) > 1:
        return bytes_of(shape.tuple_shapes[1])
    return bytes_of(shape)


def _sizes(shape: Any) -> list[int]:
    parts = [shape]
    sizes: list[int] = []
    while parts and len(sizes) < _MOST_PARTS:
        part = parts.pop()
        parts += part.tuple_shapes
        if not part.tuple_shapes:
            sizes.append(_size(part.element_type, part.dimensions))
    return sizes


def _size(element_type: int, dimensions: Sequence[int]) -> int:
    bits = _BITS.get(element_type)
    if bits is None:
        return -1
    count = 1
    for size in dimensions:
        if size < 0:
            return -1
        count = min(count * size, _LARGEST)
    return min((count * bits + 7) // 8, _LARGEST)
