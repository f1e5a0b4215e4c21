"""Every part that is loaded ahead is there, and none of them is TensorFlow."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_parts_load_without_tensorflow() -> None:
    program = (
        "import sys; from strategy_app.server.preload import _preload; _preload(); "
        "assert 'duckdb' in sys.modules; assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
