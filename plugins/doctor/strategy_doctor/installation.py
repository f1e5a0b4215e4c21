"""The installed TensorFlow as JSON: `python -m strategy_doctor.installation`.

`tensorflow_check` starts it, and does not import TensorFlow itself.
"""

from __future__ import annotations

import json
from typing import Any

import keras
import tensorflow as tf

from strategy_core.runtime.logical_devices import inventory


def installation() -> dict[str, Any]:
    """Versions, the CUDA that this TensorFlow was built for (None: built for CPUs), devices."""
    build = tf.sysconfig.get_build_info()
    return {
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "cuda": build.get("cuda_version") if build.get("is_cuda_build") else None,
        "cudnn": build.get("cudnn_version") if build.get("is_cuda_build") else None,
        "capabilities": list(build.get("cuda_compute_capabilities", [])),
        "physical": inventory().to_json()["physical"],
    }


if __name__ == "__main__":
    print(json.dumps(installation()))
