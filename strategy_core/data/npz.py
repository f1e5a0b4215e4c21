"""NumPy archives: arrays `x` and `y`, `features` and `labels`, or the only two that there are."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from strategy_core.data.examples import Examples, as_labels
from strategy_lab.profiles.errors import SpecError

_NAMES = (("x", "y"), ("features", "labels"), ("x_train", "y_train"))


def read(path: Path) -> Examples:
    """Examples along the first axis of both arrays; nothing in the file is executed."""
    if not zipfile.is_zipfile(path):  # NumPy would tell of pickles, and how to execute them
        raise SpecError(
            "An .npz file is an archive, as np.savez writes it", str(path), field="data"
        )
    with np.load(path, allow_pickle=False) as archive:
        names = tuple(archive.files)
        pair = next((pair for pair in _NAMES if set(pair) <= set(names)), None)
        if pair is None and len(names) == 2:
            pair = (names[0], names[1])
        if pair is None:
            raise SpecError(
                "An .npz file has the arrays x and y",
                f"{path} with {', '.join(names)}",
                field="data",
            )
        features, labels = archive[pair[0]], archive[pair[1]]
    return Examples(features, as_labels(labels))
