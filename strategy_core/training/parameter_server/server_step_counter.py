"""Makes the optimizer's step counter exact when several workers push at the same time.

Keras 3 reads the counter and writes it back plus one, so increments of concurrent workers are lost
(79 counted for 101 steps of two workers). Adam's bias correction and the steps of a schedule are
then late. TensorFlow's own `assign_add` runs on the server, atomically.
"""

from __future__ import annotations

from typing import Any

import keras


def count_on_server(optimizer: Any) -> bool:
    """Make `optimizer.iterations` count on its server.

    Returns False if it is not a variable of its own (gradient accumulation divides it).
    """
    counter = optimizer.iterations
    if not isinstance(counter, keras.Variable):
        return False
    counter.assign_add = counter.value.assign_add
    return True
