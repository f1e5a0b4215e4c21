"""Reading a run while it runs, and waiting for what it should come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.event_records import run_records
from tests.timeouts import wait_until

__all__ = ["events", "wait_until"]


def events(run: Path, kind: str) -> list[dict[str, Any]]:
    """Everything of a kind recorded so far, oldest first."""
    return [record for record in run_records(run) if record["kind"] == kind]
