"""Reads NumPy archives: arrays `x` and `y`, `features` and `labels`, or the only two arrays."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np

from strategy_core.data import Reader
from strategy_core.data.examples import Examples, as_labels
from strategy_data.sizes import check_fits
from strategy_profiles.errors import SpecError

_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")
"""Of a ZIP file, and of an empty one. NumPy looks for no archive behind other bytes."""
_NAMES = (("x", "y"), ("features", "labels"), ("x_train", "y_train"))


def read(path: Path) -> Examples:
    """Examples along the first axis of both arrays. Pickled data is refused, never executed."""
    with path.open("rb") as file:
        starts_as_zip = file.read(4) in _BEGINNINGS
    if not starts_as_zip:  # for other files NumPy's error suggests enabling pickle
        raise SpecError(
            f"{path} is not an .npz archive", advice="Write it with np.savez", field="data"
        )
    try:
        return _read(path)
    except zipfile.BadZipFile as error:
        raise SpecError(f"The archive {path} is damaged: {error}", field="data") from None


def _read(path: Path) -> Examples:
    with np.load(path, allow_pickle=False) as archive:
        names = tuple(archive.files)
        pair = next((pair for pair in _NAMES if set(pair) <= set(names)), None)
        if pair is None and len(names) == 2:
            pair = (names[0], names[1])
        if pair is None:
            raise SpecError(
                f"{path} has no arrays x and y; it has {', '.join(names) or 'none'}",
                field="data",
            )
        check_fits(path, sum(_num_bytes(path, name) for name in pair))
        features, labels = archive[pair[0]], archive[pair[1]]
    return Examples(features, as_labels(labels))


def _num_bytes(path: Path, name: str) -> int:
    """Size of an array in bytes, from the archive and the array's header; does not read the data.

    Returns the larger of the two. Raises SpecError if the archive holds less than the header
    declares.
    """
    with zipfile.ZipFile(path) as archive:
        member = f"{name}.npy" if f"{name}.npy" in archive.namelist() else name
        size = archive.getinfo(member).file_size
        with archive.open(member) as file:
            try:
                version = np.lib.format.read_magic(file)
            except ValueError:
                raise SpecError(
                    f"{member} in {path} is no array of NumPy",
                    advice="Write the archive with np.savez",
                    field="data",
                ) from None
            read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
                version, np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read(file)
    if dtype.hasobject:  # NumPy's error would suggest to run code from the file
        raise SpecError(
            f"The array {name} of {path} holds Python objects",
            advice="Write arrays of numbers with np.savez",
            field="data",
        )
    declared = math.prod(shape) * dtype.itemsize
    if declared > size:
        raise SpecError(
            f"The array {name} of {path} is truncated: its header declares {declared:,} "
            f"bytes, the archive has {size:,}",
            field="data",
        )
    return max(size, declared)


READER = Reader(read)
