"""1,797 real handwritten digits of 8 x 8 pixels, for the built-in workloads.

The file holds the test set of "Optical Recognition of Handwritten Digits" by E. Alpaydin and
C. Kaynak, UCI Machine Learning Repository (1998), https://doi.org/10.24432/C50P49, under the
licence CC BY 4.0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

_FILE = Path(__file__).with_name("digits.npz")


def load_digits() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    """Pixels from 0 to 1, shape (1797, 8, 8), and the digits that they show, shape (1797,)."""
    with np.load(_FILE) as file:
        return (file["pixels"] / 16).astype(np.float32), file["labels"].astype(np.int32)
