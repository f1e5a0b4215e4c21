"""An answer as HTML, for the report."""

from __future__ import annotations

from markupsafe import Markup

from strategy_profiles.answers.answer import Answer, Bold
from strategy_profiles.answers.text import cut, is_text, most_rows, written
from strategy_profiles.reporting.document import render


def as_html(answer: Answer) -> Markup:
    """Return an answer without a heading; text from a run is escaped."""
    functions = {"cut": cut, "is_text": is_text, "most_rows": most_rows, "written": written}
    # The template escapes.
    return Markup(render("answers/paper/answer.html", item=answer, Bold=Bold, zip=zip, **functions))
