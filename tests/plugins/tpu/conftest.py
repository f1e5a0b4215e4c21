"""Eight emulated cores for the tests of this folder, made before TensorFlow starts.

Runs of the lab have theirs in processes of their own, and what `shown` tests needs no TensorFlow.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


@cache
def _eight_cores() -> list[str]:
    from strategy_core import tpu

    return tpu.configure_virtual_cores(8)


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> None:
    """Before a module of this folder is imported, which may make tensors."""
    del parent
    if not module_path.stem.endswith("_run") and module_path.parent.name != "shown":
        _eight_cores()
