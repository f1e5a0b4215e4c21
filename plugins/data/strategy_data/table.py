"""Reads tables from .csv and .parquet: one column of labels, numeric columns as features."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from strategy_core.data import Reader
from strategy_core.data.examples import Examples, as_labels
from strategy_data.sizes import BYTES_PER_CSV_BYTE, check_fits
from strategy_profiles.errors import SpecError

if TYPE_CHECKING:
    import pandas as pd

_LABELS = ("label", "target", "y")
_MOST_NAMED = 5


def read_csv(path: Path) -> Examples:
    """Read a .csv file whose first line names the columns; raises SpecError."""
    check_fits(path, path.stat().st_size * BYTES_PER_CSV_BYTE)
    first = _pandas().read_csv(path, header=None, nrows=1, dtype=str).iloc[0]
    _check_names([name for name in first if isinstance(name, str)], path)
    return _examples(_pandas().read_csv(path), path)


def read_parquet(path: Path) -> Examples:
    """Read a .parquet file; raises SpecError."""
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    # `total_byte_size` is far too small for a column of equal values.
    plain = metadata.num_rows * metadata.num_columns * 8
    check_fits(path, max(plain, sum(group.total_byte_size for group in groups)))
    _check_names(metadata.schema.names, path)
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


def _check_names(names: list[str], path: Path) -> None:
    """Check the column names before pandas reads the table: it would change equal ones, in time
    that grows with the square of their number."""
    if names and _is_a_row(names):
        raise SpecError(
            f"{path} has values instead of column names, such as {', '.join(names[:3])}",
            advice=f"Name the {len(names)} columns, in a .csv file by a line before the first, the "
            "last one 'label'",
            field="data",
        )
    equal = sorted(name for name, count in Counter(names).items() if count > 1)
    if equal:
        raise SpecError(
            f"Several columns of {path} have the name {_few(equal)}",
            advice="Give each column a name of its own",
            field="data",
        )


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
    names = {str(name).lower(): name for name in table.columns}
    label = next((names[name] for name in _LABELS if name in names), table.columns[-1])
    features = table.drop(columns=[label])
    is_numeric = _pandas().api.types.is_numeric_dtype
    words = [str(name) for name, kind in features.dtypes.items() if not is_numeric(kind)]
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


CSV = Reader(read_csv)
PARQUET = Reader(read_parquet)
