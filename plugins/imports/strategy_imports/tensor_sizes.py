"""How many bytes a collective of PyTorch moves, and among how many ranks, by its arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard

from strategy_imports.chrome_spellings import DTYPE_BYTES
from strategy_profiles.capture.kernel_names import collective_of

_collective_of = lru_cache(maxsize=4096)(collective_of)
_MOST_ELEMENTS = 2**50
MOST_RANKS = 2**20


def collective_bytes(name: str, args: Mapping[str, Any]) -> int | None:
    """Return the size S, which is the operand or the result, whichever is larger.

    Before 2023 the annotation of a collective tells its operands' shapes only: that is S, unless it
    gathers.
    """
    counts = [args[key] for key in ("In msg nelems", "Out msg nelems") if key in args]
    known = [count for count in counts if is_count(count, _MOST_ELEMENTS)]
    if known and (size := _dtype_bytes(args.get("dtype"))):
        return max(known) * size or None
    dims = args.get("Input Dims", args.get("Input dims"))
    if dims is None or _collective_of(name) in (None, "all-gather", "send-receive"):
        return None
    return _operand_bytes(dims, args.get("Input type"))


def group_size(args: Mapping[str, Any]) -> int | None:
    """Return the number of ranks in the group of a collective."""
    size = args.get("Group size")
    if is_count(size, MOST_RANKS) and size:
        return int(size)
    ranks = args.get("Process Group Ranks")
    if isinstance(ranks, str) and "..." not in ranks:
        ranks = [rank for rank in ranks.strip("[] ").split(",") if rank.strip()]
    return len(ranks) or None if isinstance(ranks, list) else None


def _operand_bytes(dims: Any, types: Any) -> int | None:
    if not isinstance(dims, list) or not isinstance(types, list) or len(dims) != len(types):
        return None
    sizes = [
        _tensor_bytes(shape, of_type) for shape, of_type in zip(dims, types, strict=True) if shape
    ]
    return sum(size for size in sizes if size) if sizes and all(sizes) else None


def _tensor_bytes(shape: Any, of_type: Any) -> int | None:
    size = _dtype_bytes(of_type)
    if not size or not isinstance(shape, Sequence) or isinstance(shape, str):
        return None
    if not all(is_count(length, _MOST_ELEMENTS) for length in shape):
        return None
    count = math.prod(shape)
    return count * size if count < _MOST_ELEMENTS else None


def _dtype_bytes(name: Any) -> int | None:
    return DTYPE_BYTES.get(str(name).lower().replace("c10::", ""))


def is_count(value: Any, most: int = MOST_RANKS) -> TypeGuard[int]:
    """Return whether a value of a file is a number from 0 to below `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < most
