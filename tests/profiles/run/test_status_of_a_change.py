"""A fresh worker that has yet to take over says nothing about the run."""

from __future__ import annotations

from typing import Any

from strategy_profiles.run.status import derive_status
from tests.event_records import source


def launched(generation: int) -> dict[str, Any]:
    return {"kind": "launched", "worker": 0, "generation": generation, "pid": 1 + generation}


def test_a_fresh_worker_that_fails_is_no_failure_of_the_run() -> None:
    old = source(0, 0, {"kind": "step", "step": 3})
    fresh = source(0, 1, {"kind": "failed", "message": "cannot open"})
    waiting = [source(None, None, launched(0)), old, fresh]
    assert derive_status(waiting, alive=lambda _process: True).state == "running"
    taken_over = [source(None, None, launched(0), launched(1)), old, fresh]
    assert derive_status(taken_over, alive=lambda _process: True).state == "failed"
