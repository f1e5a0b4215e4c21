"""TensorFlow still tells a tensor's shape without making an object of it."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


def test_a_tensors_shape_is_read_without_its_public_object() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import shapes

    assert shapes._CAN, "tf.Tensor no longer has _shape_tuple"
    assert shapes.first_axes([tf.zeros((3, 2)), np.zeros((4, 1))]) == 7
    assert shapes.first_axes([tf.zeros((3, 2)), tf.constant(1.0)]) is None
    assert shapes.first_axes(["no tensor"]) is None


def test_without_the_private_shape_the_public_one_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    import tensorflow as tf

    from strategy_core.private_tf import shapes

    monkeypatch.setattr(shapes, "_CAN", False)
    assert shapes.first_axes([tf.zeros((3, 2))]) == 3
