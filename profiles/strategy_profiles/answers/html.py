"""An answer as HTML, for the report."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from strategy_profiles.answers.answer import Answer, Bold, Lines
from strategy_profiles.answers.text import by_group, cut, is_text, most_rows, sorted_by, written
from strategy_profiles.reporting.document import render
from strategy_profiles.reporting.downsample import series
from strategy_profiles.reporting.palette import DEVICE_COLOURS, GREY


def as_html(answer: Answer, of: str = "") -> Markup:
    """Return an answer without a heading; text from a run is escaped.

    Its charts are places that a script fills with `charts(answer, of)`.
    """
    functions = (by_group, cut, is_text, most_rows, sorted_by, written, zip)
    context = {"item": answer, "of": of, "Bold": Bold} | {each.__name__: each for each in functions}
    return Markup(render("answers/paper/answer.html", **context))  # The template escapes.


def charts(answer: Answer, of: str = "") -> dict[str, dict[str, Any]]:
    """Return an answer's line charts by their place, as `charts.js` of the report draws them."""
    return {
        f"{of}{part.key}": {
            "x_label": part.x_title,
            "y_label": part.y_title,
            "unit": part.unit if part.unit == "bytes" else "",
            "from_zero": True,
            "sync": f"{of}{part.key}",
            "is_stepped": part.is_stepped,
            "names_marks": True,
            "marks": [{"x": at + 0.5, "label": label, "line": True} for at, label in part.marks],
            "series": [
                {
                    "label": line.name,
                    "colour": line.colour,
                    "outline": GREY if line.colour in DEVICE_COLOURS else None,
                    **series(line.x, line.y),
                }
                for line in part.lines
            ],
        }
        for part in answer.parts
        if isinstance(part, Lines)
    }
