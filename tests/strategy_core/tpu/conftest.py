"""Eight emulated cores for the tests of this folder, made before TensorFlow starts."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from strategy_core import tpu

tpu.configure_virtual_cores(8)
