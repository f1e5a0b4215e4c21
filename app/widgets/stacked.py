"""A table as a list, for phones: an entry per row, a line per column.

Streamlit's grid has one height per row and no line breaks: at 390 px it shows two or three columns,
and the others only after scrolling to the side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from strategy_lab.app.widgets.text import as_html
from strategy_lab.profiles.reporting.units import MISSING

NARROW = "48rem"
"""Widest window that shows lists instead of tables."""
MOST_ROWS = 40
"""Of a longer table, the list has its beginning."""
_STYLE = f"""<style>
.lab-stacked {{display:none; font-size:.9rem}}
.lab-stacked section {{padding:.5rem 0;
  border-bottom:1px solid color-mix(in srgb, currentColor 16%, transparent)}}
.lab-stacked b {{display:block; overflow-wrap:anywhere}}
.lab-stacked dl {{display:grid; grid-template-columns:minmax(7rem,2fr) 3fr; gap:.1rem .6rem;
  margin:.2rem 0 0}}
.lab-stacked dt {{opacity:.75; overflow-wrap:anywhere}}
.lab-stacked dd {{margin:0; overflow-wrap:anywhere; font-variant-numeric:tabular-nums}}
@media (max-width:{NARROW}) {{
  .lab-stacked {{display:block}}
  [class*="st-key-wide_"] {{display:none !important}}
}}
</style>"""


STACKS = f"""<style>
@media (max-width:{NARROW}) {{
  .lab-stacks, .lab-stacks tbody, .lab-stacks tr {{display:block}}
  .lab-stacks thead {{display:none}}
  .lab-stacks tr {{padding:.35rem 0; border-bottom:1px solid rgba(128,128,128,.3)}}
  .lab-stacks tbody :is(th, td) {{display:block; position:relative; min-height:1.5em; min-width:0;
    padding:.05rem 0 .05rem 9.6rem !important; border:0 !important; text-align:left !important;
    white-space:normal !important; overflow-wrap:anywhere}}
  .lab-stacks tbody :is(th, td)::before {{content:attr(data-label); position:absolute; left:0;
    width:9rem; opacity:.75; font-weight:400}}
}}
</style>"""
"""Makes an HTML table of class `lab-stacks` a list on a phone.

The `data-label` of a cell is its column's title.
"""


def stacked(values: Mapping[str, Sequence[object]], configs: Mapping[str, Any]) -> str:
    """The list as HTML, seen in narrow windows only, where no container `wide_...` is.

    Args:
      values: the column's values by its name; the first column is the title of an entry.
      configs: each column's configuration for Streamlit.
    """
    names = list(values)
    rows = list(zip(*values.values(), strict=True))
    entries = [
        f"<section><b>{_title(configs[names[0]], names[0], row[0])}</b><dl>"
        + "".join(
            f"<dt>{as_html(_label(configs[name], name))}</dt><dd>{_html(configs[name], value)}</dd>"
            for name, value in zip(names[1:], row[1:], strict=True)
        )
        + "</dl></section>"
        for row in rows[:MOST_ROWS]
    ]
    more = len(rows) - MOST_ROWS
    rest = f"<p>{more:,} more rows are on a wider screen.</p>" if more > 0 else ""
    return f'{_STYLE}<div class="lab-stacked">{"".join(entries)}{rest}</div>'


def _title(config: Any, name: str, value: object) -> str:
    """A name as it is; a number after its column's title, `Replica 0`."""
    title = _html(config, value)
    return title if isinstance(value, str) else f"{as_html(_label(config, name))} {title}"


def _label(config: Any, name: str) -> str:
    return str(config.get("label") or name)


def _html(config: Any, value: object) -> str:
    return as_html(written(value, (config.get("type_config") or {}).get("format")))


def written(value: object, form: str | None) -> str:
    """A value as Streamlit's grid writes it, by the `format` of its column."""
    if value is None or value != value:  # noqa: PLR0124, NaN
        return MISSING
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or MISSING
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    if form is not None and "%" in form:
        return form % value
    number = float(value)
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.6g}"
