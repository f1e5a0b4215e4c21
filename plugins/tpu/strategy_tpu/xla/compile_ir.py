"""Runs TensorFlow's bridge from a graph to XLA, to get its errors only."""

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

    Compiles to HLO only, which is where programs are refused. Generating machine code would take
    seconds and reveal nothing more. `device` holds the variables that the function reads.
    """
    with warnings.catch_warnings():
        # The alternative way to select the platform reads the device of a new random tensor, which
        # would advance the program's own random number stream.
        warnings.filterwarnings("ignore", message="device_name is being deprecated")
        try:
            function.experimental_get_compiler_ir(*specs)(stage="hlo", device_name=device)
        except (ValueError, TypeError, tf.errors.OpError) as error:
            return error_texts.XLA_PREFIX.sub("", str(error)).strip()
    return None
