"""Figures that a benchmark hands to `benchmarks.figures`, beside what it prints."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.paired import Ratio

FILE_VARIABLE = "STRATEGY_LAB_FIGURES"
"""Names the file that figures are appended to; without it a benchmark only prints."""


def record_figure(figure: str, values: float | Sequence[float], unit: str) -> None:
    """Append a figure: the median of its rounds, with the least and the most of them."""
    several = values if isinstance(values, Sequence) else [values]
    numbers = {"value": statistics.median(several)}
    if len(several) > 1:
        numbers |= {"low": min(several), "high": max(several)}
    rounded = {name: float(f"{number:.3g}") for name, number in numbers.items()}
    _append({"id": figure, "unit": unit, **rounded, "rounds": len(several)})


def record_ratio(figure: str, ratio: Ratio, rounds: int) -> None:
    """Append a ratio of two sides with the interval that holds it."""
    numbers = {"value": ratio.value, "low": ratio.low, "high": ratio.high}
    rounded = {name: round(number, 3) for name, number in numbers.items()}
    _append({"id": figure, "unit": "x", **rounded, "rounds": rounds})


def _append(figure: dict[str, Any]) -> None:
    if path := os.environ.get(FILE_VARIABLE):
        with Path(path).open("a") as file:
            file.write(json.dumps(figure) + "\n")
