"""The handwritten digits that the built-in workloads train on."""

from __future__ import annotations

import numpy as np

from strategy_core.workloads._digits import load_digits


def test_every_digit_has_pixels_from_0_to_1_and_a_label() -> None:
    pixels, labels = load_digits()
    assert pixels.shape == (1797, 8, 8)
    assert (pixels.min(), pixels.max()) == (0, 1)
    assert (np.bincount(labels) == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]).all()


def test_the_first_image_is_a_zero() -> None:
    pixels, labels = load_digits()
    assert labels[0] == 0
    assert (pixels[0, 0] * 16).tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert pixels[0, 3:5, 3:5].max() < 0.2, "the middle of a zero is empty"
