"""The user's data, as far as their place alone tells whether they can be read: no TensorFlow."""

from __future__ import annotations

from pathlib import Path

from strategy_lab.profiles.errors import SpecError

SUFFIXES = (".npz", ".csv", ".parquet", ".tfrecord", ".tfrecords")
"""Each has a reader in `strategy_core.data`."""
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif")


def check(path: str) -> Path:
    """The place of the data; raises SpecError where there are none that the lab knows."""
    place = Path(path).expanduser()
    try:
        is_folder, size = place.is_dir(), place.stat().st_size
    except OSError as error:
        raise SpecError(
            "The data is a file or a folder that exists",
            path if isinstance(error, FileNotFoundError) else f"{path} ({error.strerror})",
            field="data",
        ) from None
    if is_folder:
        return place
    if place.suffix.lower() not in SUFFIXES:
        rule = f"Data is a folder of images or a file of one of these: {', '.join(SUFFIXES)}"
        raise SpecError(rule, path, field="data")
    if size == 0:
        raise SpecError("Data has at least one example", f"{path}, which is empty", field="data")
    return place
