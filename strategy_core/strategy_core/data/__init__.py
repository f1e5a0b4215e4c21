"""Reads the user's own data as batches for a workload's model: one reader per format.

    .npz            arrays x and y (or any two arrays, the second with the labels)
    .csv, .parquet  a column `label` (or the last one) with the labels, the others with numbers
    .tfrecord       tf.train.Example records with a feature `label` and numeric features
    a folder        one folder of images per class

A reader is a function path -> `Examples`. The steps after it are shared by all formats: the checks,
the reshaping to the model's input and the shuffled stream. Built-in data belongs to `workloads`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from strategy_core.data import images, npz, table, tfrecord
from strategy_core.data.examples import Examples
from strategy_core.planning import data_path
from strategy_core.runtime.error_message import cause
from strategy_profiles.errors import SpecError

Reader = Callable[[Path], Examples]

READERS: dict[str, Reader] = {  # the suffixes of data_files.SUFFIXES
    ".npz": npz.read,
    ".csv": table.read_csv,
    ".parquet": table.read_parquet,
    ".tfrecord": tfrecord.read,
    ".tfrecords": tfrecord.read,
}


def read(path: str) -> Examples:
    """The examples at `path`, after the checks that need no model; raises SpecError."""
    source = data_path.check(path)
    reader = images.read if source.is_dir() else READERS[source.suffix.lower()]
    try:
        examples = reader(source)
    except SpecError:
        raise
    except Exception as error:
        raise SpecError(
            f"The data {source} cannot be read: {cause(error)}", field="data"
        ) from error
    examples.check(str(source))
    return examples
