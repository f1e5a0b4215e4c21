"""Reading a run while it runs, and waiting for what it should come to."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from profiles.tail import Tail


def wait_until(is_true: Callable[[], bool], timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_true():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def events(run: Path, kind: str) -> list[dict[str, Any]]:
    """Everything of a kind recorded so far, oldest first."""
    return [record for record in Tail(run).read() if record["kind"] == kind]
