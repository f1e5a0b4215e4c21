"""An answer as HTML, for the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from strategy_profiles.answers.answer import Answer, Bold, Line, Lines, Missing, Numbers
from strategy_profiles.answers.text import (
    by_group,
    cell_text,
    is_text,
    most_rows,
    rows_left_out,
    sorted_by,
)
from strategy_profiles.reporting.document import render
from strategy_profiles.reporting.downsample import MAX_POINTS, bucket_size, series
from strategy_profiles.reporting.palette import DEVICE_COLOURS, GREY


def as_html(answer: Answer, of: str = "") -> Markup:
    """Return an answer without a heading; text from a run is escaped.

    Its charts are places that a script fills with `charts(answer, of)`.
    """
    functions = (by_group, cell_text, is_text, most_rows, per_point, rows_left_out, sorted_by, zip)
    is_of_charts = all(isinstance(part, Lines | Missing) for part in answer.parts)
    context = {"item": answer, "of": of, "Bold": Bold, "is_of_charts": is_of_charts} | {
        each.__name__: each for each in functions
    }
    return Markup(
        render("paper/answer.html", Path(__file__).parent, **context)
    )  # The template escapes.


def charts(answer: Answer, of: str = "") -> dict[str, dict[str, Any]]:
    """Return an answer's line charts by their place, as `charts.js` of the report draws them."""
    return {
        f"{of}{part.key}": _chart(part, f"{of}{part.key}")
        for part in answer.parts
        if isinstance(part, Lines)
    }


def _chart(part: Lines, key: str) -> dict[str, Any]:
    shift = 0 if part.is_of_run else 0.5  # the script marks where a step begins
    return {
        "x_label": part.x_title,
        "y_label": part.y_title,
        "unit": part.unit if part.unit in ("bytes", "ms") else "",
        "from_zero": part.starts_at_zero,
        "y_range": None if part.top is None else [0, part.top],
        "sync": "steps" if part.is_of_run else key,
        "is_stepped": part.is_stepped,
        "names_marks": True,
        "marks": [{"x": at + shift, "label": label, "line": True} for at, label in part.marks],
        "captured": part.captured,
        "series": [_series(line, part) for line in part.lines],
    }


def _series(line: Line, part: Lines) -> dict[str, Any]:
    def points(y: Numbers) -> dict[str, Any]:
        return series(line.x, y, max_points=_most_points(part), bridge=part.bridge)

    drawn = points(line.y)
    if len(line.low):
        low, high = points(line.low), points(line.high)
        drawn |= {"low": low.get("low", low["y"]), "high": high.get("high", high["y"])}
    outline = GREY if line.colour in DEVICE_COLOURS else None
    return {"label": line.name, "colour": line.colour, "outline": outline, **drawn}


def _most_points(part: Lines) -> int:
    return MAX_POINTS // len(part.lines)


def per_point(part: Lines) -> int:
    """Return how many values each point of a chart covers."""
    return max((bucket_size(len(line.x), _most_points(part)) for line in part.lines), default=1)
