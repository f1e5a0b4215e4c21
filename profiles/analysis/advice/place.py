"""A line of the program as a sentence names it."""

from __future__ import annotations

from strategy_lab.profiles.analysis.causes import Cause


def place(cause: Cause) -> str:
    """`train.py:9 (`score(loss)`)`: file and line, then the line itself."""
    return f"{cause.name} (`{cause.detail}`)" if cause.detail else cause.name
