"""Columns of a table as NumPy arrays, for one segment."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]


def of_segment(table: pa.Table, segment: int) -> pa.Table:
    """The rows of one segment."""
    return table.filter(pc.equal(table["segment"], segment))


def floats(table: pa.Table, name: str) -> Floats:
    """A numeric column; a missing or infinite value is NaN."""
    column: Floats = table[name].cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.where(np.isfinite(column), column, np.nan)


def ints(table: pa.Table, name: str) -> Ints:
    """An integer column; a missing value is -1."""
    column: Ints = table[name].cast(pa.int64()).fill_null(-1).to_numpy()
    return column


def bools(table: pa.Table, name: str) -> Bools:
    """A yes-or-no column; a missing value is no."""
    column: Bools = table[name].fill_null(False).to_numpy(zero_copy_only=False).astype(bool)
    return column


def texts(table: pa.Table, name: str) -> list[str | None]:
    values: list[str | None] = table[name].cast(pa.string()).to_pylist()
    return values


def mean(values: Floats) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None
