"""What a fork server forks in tests: says what it finds, and ends as its stdin asks."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def prepare() -> None:
    """The import above is all that is needed."""


def main(argv: Sequence[str]) -> None:
    facts = {
        "argv": [*argv],
        "variable": os.environ.get("OF_THE_TEST"),
        "folder": str(Path.cwd()),
        "number": float(np.random.rand()),
        "threads": threading.active_count(),
        "session": os.getsid(0) == os.getpid(),
    }
    print(json.dumps(facts), flush=True)
    how = sys.stdin.readline().strip()
    if how == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "error":
        raise ValueError("as asked")
    sys.exit(int(how))
