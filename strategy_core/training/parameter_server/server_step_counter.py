"""The optimizer's step counter, made to count every step of workers that push at the same time.

Keras 3 counts by reading the counter and writing it back plus one: of two workers at once one is
lost (79 counted for 101 steps of two workers), and with it Adam's bias correction and the steps
of a schedule are late. TensorFlow's own `assign_add` happens on the server, whole.
"""

from __future__ import annotations

from typing import Any

import keras


def count_on_server(optimizer: Any) -> bool:
    """Have `optimizer.iterations` advance on its server; False where it is no variable of its own
    (gradient accumulation divides it)."""
    counter = optimizer.iterations
    if not isinstance(counter, keras.Variable):
        return False
    counter.assign_add = counter.value.assign_add
    return True
