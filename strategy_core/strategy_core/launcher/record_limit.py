"""Bounds what a run that goes on until it is stopped writes to the disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strategy_profiles.run.remove import folder_bytes

LOOK_EVERY_S = 10.0


class RecordLimit:
    """Compares the size of a run's folder with `capture.limit_mb` now and then."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._look_at = 0.0

    def why_full(self, spec: Mapping[str, Any], now: float) -> str | None:
        """Why the run of this spec has to be stopped; None if it may go on, or it is not time to
        look at it."""
        if now < self._look_at or spec.get("steps", 1) is not None:
            return None
        self._look_at = now + LOOK_EVERY_S
        limit_mb: int = spec["capture"]["limit_mb"]
        if folder_bytes(self._folder) < limit_mb * 1_000_000:
            return None
        return (
            f"The run is stopped: its folder holds {limit_mb:,} MB, which is the "
            "limit of a run that goes on until it is stopped (capture.limit_mb)."
        )
