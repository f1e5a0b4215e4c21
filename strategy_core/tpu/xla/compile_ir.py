"""Compiles a graph with TensorFlow's XLA bridge only for its messages; the program is dropped."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import error_texts

_LOCAL_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def compile_error(
    function: Any, specs: Sequence[tf.TensorSpec], device: str = _LOCAL_CPU
) -> str | None:
    """What XLA's bridge refuses in a `tf.function(jit_compile=True)`; None if it compiles.

    Goes as far as HLO, which is where programs are refused; the machine code that would follow
    takes seconds and says nothing more. `device` holds the variables that the function reads.
    """
    with warnings.catch_warnings():
        # The other way to name the platform asks a new random tensor for its device, which would
        # move on the program's own stream of random numbers.
        warnings.filterwarnings("ignore", message="device_name is being deprecated")
        try:
            function.experimental_get_compiler_ir(*specs)(stage="hlo", device_name=device)
        except (ValueError, TypeError, tf.errors.OpError) as error:
            return error_texts.XLA_PREFIX.sub("", str(error)).strip()
    return None
