"""Building blocks of the report's sections: tables, bars, charts, notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from strategy_lab.profiles.exports.report.markup import Markup, tag
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.definitions import DEFINITIONS

MEASURED_BY = {
    "measured": "measured",
    "marks": "measured by marks",
    "derived": "derived",
}


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report. `data` is the charts' data for the script."""

    key: str
    title: str
    body: Markup
    charts: dict[str, Any] = field(default_factory=dict)
    timeline: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell. `value` is used for sorting and copying if it differs from the text."""

    content: Markup | str
    value: float | None = None
    kind: str = ""
    """CSS class: `num` for numbers, `name` for long text, `wide` for bars."""


def quantity(text: str, value: float | None) -> Cell:
    """Return a cell with a number and its unit; a missing number is shown as such."""
    return Cell(text, value, "num" if text != units.MISSING else "num missing")


def name(text: str) -> Cell:
    return Cell(text, None, "name")


Head = str | tuple[str, str]
"""A column's title, or a pair of its title and the key of its definition."""


def table(
    caption: str,
    heads: Sequence[Head],
    rows: Iterable[Sequence[Cell | str]],
    *,
    source: str | None = None,
) -> Markup:
    """Return a table that the script makes sortable and copyable.

    `source` is the source of its numbers.
    """
    written = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    numeric = [bool(written) and "num" in row.kind for row in (written[0] if written else [])]
    numeric += [False] * (len(heads) - len(numeric))
    head = tag("tr", *map(_head, heads, numeric))
    body = [tag("tr", *map(_cell, row)) for row in written]
    content = tag(
        "table",
        tag("caption", caption, " ", source_mark(source)),
        tag("thead", head),
        tag("tbody", *body),
        class_="data",
    )
    return tag("div", tag("div", content, class_="scroll"), class_="sheet")


def _head(head: Head, is_number: bool) -> Markup:
    title, key = head if isinstance(head, tuple) else (head, "")
    hint = DEFINITIONS[key].text if key else None
    return tag("th", title, scope="col", class_="num" if is_number else None, title=hint)


def _cell(cell: Cell) -> Markup:
    value = None if cell.value is None else f"{cell.value:.10g}"
    return tag("td", cell.content, class_=cell.kind or None, data_value=value)


def cut(count: int, most: int) -> str:
    """Return the caption's suffix for a table that shows only the first `most` rows."""
    return f": the {most} largest of {count:,}" if count > most else ""


def bar(parts: Sequence[tuple[str, float, str]], whole: float) -> Markup:
    """Return a bar of length `whole` with stacked parts `(CSS class, length, hover text)`."""
    rects, left = [tag("rect", width="100%", height="100%", class_="ground")], 0.0
    for css, length, hint in parts:
        width = 100 * length / whole if whole > 0 else 0.0
        rects.append(
            tag(
                "rect",
                tag("title", hint),
                x=f"{left:.3f}%",
                width=f"{width:.3f}%",
                height="100%",
                class_=f"fill-{css}",
            )
        )
        left += width
    label = ", ".join(hint for _, _, hint in parts)
    return tag("svg", *rects, class_="bar", role="img", aria_label=label)


def chart(key: str, label: str, *, height: int = 240) -> Markup:
    """Return a chart's element, which the script fills from the section's `charts[key]`."""
    return tag(
        "div",
        tag("noscript", tag("p", "This chart needs JavaScript.", class_="note")),
        class_="chart",
        data_chart=key,
        data_height=height,
        role="img",
        aria_label=label,
    )


def legend(entries: Iterable[tuple[str, str]]) -> Markup:
    """Return the legend of colours, each given as `(CSS class, name)`."""
    items = [tag("li", tag("span", class_=f"key fill-{css}"), text) for css, text in entries]
    return tag("ul", *items, class_="legend")


def note(text: Markup | str) -> Markup:
    return tag("p", text, class_="note")


def formulas(*keys: str) -> Markup:
    """Return the definitions of figures, with formulas, for print beside the figures."""
    lines = []
    for item in (DEFINITIONS[key] for key in keys):
        formula = tag("span", item.formula, class_="mono") if item.formula else None
        lines.append(tag("li", tag("b", item.label), f": {item.meaning} ", formula))
    return tag("ul", *lines, class_="note formulas")


def source_mark(source: str | None) -> Markup | None:
    """Return a small mark with a number's source, or None without one."""
    return tag("span", MEASURED_BY.get(source, source), class_="source") if source else None
