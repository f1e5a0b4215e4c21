"""Reads TFRecord files of tf.train.Example: a feature `label`, and numeric features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from strategy_core.data import Reader
from strategy_core.data.examples import Examples, as_labels
from strategy_data.sizes import BYTES_PER_RECORD_BYTE, check_fits
from strategy_profiles.errors import SpecError

Values = npt.NDArray[np.float64]

_LABEL = "label"


def read(path: Path) -> Examples:
    """Join the numeric features in order of name; all records must have the same features."""
    check_fits(path, path.stat().st_size * BYTES_PER_RECORD_BYTE)
    features: list[Values] = []
    labels: list[float] = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        parsed = tf.train.Example.FromString(record).features.feature
        if _LABEL not in parsed:
            raise SpecError(
                f"Record {len(labels)} of {path} has no feature '{_LABEL}'; its features: "
                f"{', '.join(sorted(parsed)) or 'none'}",
                field="data",
            )
        label = _values(parsed[_LABEL])
        if label.size != 1:
            raise SpecError(
                f"The feature '{_LABEL}' of record {len(labels)} of {path} holds "
                f"{label.size} numbers, not one",
                advice="Write it as an int64_list or a float_list of one",
                field="data",
            )
        row = [_values(parsed[name]) for name in sorted(parsed) if name != _LABEL]
        features.append(np.concatenate(row) if row else np.zeros(0))
        labels.append(label[0])
        if len(features[-1]) != len(features[0]) or not features[-1].size:
            raise SpecError(
                f"Record {len(labels) - 1} of {path} has {len(features[-1])} numbers in its "
                f"features, the first record {len(features[0])}",
                advice="Write int64_list or float_list features of the same length, at least one "
                "number, in each record",
                field="data",
            )
    return Examples(np.array(features, np.float32), as_labels(np.array(labels)))


def _values(feature: tf.train.Feature) -> Values:
    values = feature.int64_list.value or feature.float_list.value
    return np.asarray(values, np.float64)


READER = Reader(read)
