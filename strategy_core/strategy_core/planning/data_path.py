"""Checks by its path alone whether the user's data can be read. Free of TensorFlow."""

from __future__ import annotations

from pathlib import Path

from strategy_profiles.errors import SpecError
from strategy_profiles.user_input import files

SUFFIXES = (".npz", ".csv", ".parquet", ".tfrecord", ".tfrecords")
"""Each has a reader in `strategy_core.data`."""
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif")


def check(path: str) -> Path:
    """The place of the data; raises SpecError where the lab cannot read any there."""
    chosen = files.find(path, "The data", "data")
    if chosen.kind == "a folder":
        return chosen.path
    if chosen.kind != "a file":
        raise SpecError(
            f"The data {path} is {chosen.kind}, not a file or a folder",
            advice="Save it as a file first",
            field="data",
        )
    if chosen.path.suffix.lower() not in SUFFIXES:
        raise SpecError(
            f"The lab cannot read data in the format of {path}",
            advice=f"Name a folder of images or a file that ends in {', '.join(SUFFIXES)}",
            field="data",
        )
    if chosen.num_bytes == 0:
        raise SpecError(
            f"The data {path} is empty",
            advice="Name a file with at least one example",
            field="data",
        )
    return chosen.path
