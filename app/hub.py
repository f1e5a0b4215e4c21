"""Follows the runs in the runs folder: one tailer per run, however many look at it."""

from __future__ import annotations

from pathlib import Path


class Hub:
    """The runs that somebody looks at."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs

    def close(self) -> None:
        """Stop following."""
