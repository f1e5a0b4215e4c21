"""Tables, from .csv and .parquet: a column of labels, the others numbers that make an example."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from profiles.errors import SpecError
from strategy_core.data.examples import Examples, as_labels

_LABELS = ("label", "target", "y")


def read_csv(path: Path) -> Examples:
    """A .csv file whose first line names the columns."""
    return _examples(pd.read_csv(path), path)


def read_parquet(path: Path) -> Examples:
    """A .parquet file."""
    return _examples(pd.read_parquet(path), path)


def _examples(table: pd.DataFrame, path: Path) -> Examples:
    if len(table.columns) < 2:
        raise SpecError(
            "A table has at least one column of numbers and one of labels",
            f"{path} with {len(table.columns)} column",
            field="data",
        )
    names = {str(name).lower(): name for name in table.columns}
    label = next((names[name] for name in _LABELS if name in names), table.columns[-1])
    features = table.drop(columns=[label])
    words = [str(name) for name in features if not pd.api.types.is_numeric_dtype(features[name])]
    if words:
        raise SpecError(
            "Every column but that of the labels holds numbers",
            f"{', '.join(words)} in {path}",
            f"The labels are taken from '{label}'",
            field="data",
        )
    labels = table[label].to_numpy()
    if pd.isna(labels).any():
        raise SpecError(
            "Every example has a label", f"a gap in column '{label}' of {path}", field="data"
        )
    return Examples(features.to_numpy(dtype=np.float32), as_labels(labels))
