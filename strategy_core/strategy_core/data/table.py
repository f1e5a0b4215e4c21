"""Reads tables from .csv and .parquet: one column of labels, numeric columns as features."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from strategy_core.data.examples import Examples, as_labels
from strategy_core.data.sizes import BYTES_PER_CSV_BYTE, check_fits
from strategy_profiles.errors import SpecError

if TYPE_CHECKING:
    import pandas as pd

_LABELS = ("label", "target", "y")
_MOST_NAMED = 5


def read_csv(path: Path) -> Examples:
    """Read a .csv file whose first line names the columns; raises SpecError."""
    check_fits(path, path.stat().st_size * BYTES_PER_CSV_BYTE)
    return _examples(_pandas().read_csv(path), path)


def read_parquet(path: Path) -> Examples:
    """Read a .parquet file; raises SpecError."""
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    # `total_byte_size` is far too small for a column of equal values.
    plain = metadata.num_rows * metadata.num_columns * 8
    check_fits(path, max(plain, sum(group.total_byte_size for group in groups)))
    return _examples(_pandas().read_parquet(path), path)


def _pandas() -> Any:
    """Pandas, which comes with the extra tensorflow and not with a TensorFlow of one's own."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise SpecError(
            "A table as data needs pandas, which is not installed",
            advice="Install it with: pip install pandas",
            field="data",
        ) from error
    return pandas


def _is_a_row(names: list[str]) -> bool:
    """Whether column names look like an example's numbers, so that the header line is missing.

    Integers alone do not count, because they can well be names.
    """
    is_number = [re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", name) is not None for name in names]
    return all(is_number) and any("." in name for name in names)


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _examples(table: pd.DataFrame, path: Path) -> Examples:
    if len(table.columns) < 2:
        raise SpecError(
            f"{path} has {len(table.columns)} column; a table needs at least one of numbers "
            "and one of labels",
            advice="Separate the columns of a .csv file by commas",
            field="data",
        )
    if table.empty:
        raise SpecError(f"{path} holds no examples", field="data")
    if _is_a_row([str(name) for name in table.columns]):
        raise SpecError(
            f"The first line of {path} holds values instead of column names, such as "
            f"{', '.join(map(str, table.columns[:3]))}",
            advice=f"Put a line of {len(table.columns)} names before it, the last one 'label'",
            field="data",
        )
    names = {str(name).lower(): name for name in table.columns}
    label = next((names[name] for name in _LABELS if name in names), table.columns[-1])
    features = table.drop(columns=[label])
    words = [
        str(name) for name in features if not _pandas().api.types.is_numeric_dtype(features[name])
    ]
    if words:
        raise SpecError(
            f"Columns of {path} that are not numbers: {_few(words)}",
            advice=f"All columns except the labels, here '{label}', must hold numbers",
            field="data",
        )
    labels = table[label].to_numpy()
    if _pandas().isna(labels).any():
        raise SpecError(f"The label column '{label}' of {path} has missing values", field="data")
    return Examples(features.to_numpy(dtype=np.float32), as_labels(labels))
