"""Windows are read in threads of which none is the first to import pandas."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from strategy_lab.profiles.tables import threads

def work(_number):
    return "pandas" in sys.modules

threads.os.cpu_count = lambda: 2
print("pandas" in sys.modules, *threads.in_threads(work, [1, 2, 3]))
"""


@pytest.mark.slow
def test_pandas_is_imported_before_the_threads_begin() -> None:
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False", "True", "True", "True"]
