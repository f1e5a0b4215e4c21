"""An answer as Markdown that other programs render, such as GitHub's job summaries."""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.answers.answer import Answer, Table
from strategy_profiles.answers.text import cell_text, is_text
from strategy_profiles.reporting.markdown import as_text


def as_markdown(answer: Answer, title: str) -> str:
    """Return its sentence and its tables with their notes; text from a run is escaped."""
    tables = [part for part in answer.parts if isinstance(part, Table) and part.rows]
    blocks = [f"## {as_text(title)}", as_text("".join(answer.sentence))]
    for part in tables:
        blocks += ["\n".join(_lines(part)), *map(as_text, part.notes)]
    return "\n\n".join(blocks) + "\n"


def _lines(table: Table) -> Iterator[str]:
    yield _row(as_text(column.title) for column in table.columns)
    yield _row("---" if is_text(column.unit) else "---:" for column in table.columns)
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        yield _row(as_text(cell_text(value, column.unit)) for value, column in cells)


def _row(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
