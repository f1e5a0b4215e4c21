"""HTML tables: in a wide window a table, on a phone a list with an entry per row.

Streamlit's grid has one height per row and no line breaks: at 390 px it shows two or three columns,
and the others only after scrolling to the side. So each grid has a list beside it, for phones: what
is in a container `wide_...` is not shown there, what is in `narrow_...` only there
(`server.first_style`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any

from strategy_app.server.first_style import NARROW
from strategy_app.widgets.text import as_html
from strategy_profiles.reporting import units

MOST_ROWS = 20
"""Of a longer grid, the list has its beginning."""
WIDER = " on a wider screen."
TITLE_COLUMNS = 3
"""So many values tell the rows of a grid apart."""
STYLE = f"""
.lab-table {{overflow-x:auto; font-size:.85rem}}
.lab-table table {{border-collapse:collapse; width:100%}}
.lab-table :is(th, td) {{padding:.25rem .6rem; text-align:right; white-space:nowrap;
  font-variant-numeric:tabular-nums; border-bottom:1px solid rgba(128,128,128,.3)}}
.lab-table .text {{text-align:left}}
.lab-table tbody th {{font-weight:400; white-space:normal; overflow-wrap:anywhere; min-width:9rem}}
.lab-table td.text {{white-space:normal; overflow-wrap:anywhere; min-width:5.5rem}}
.lab-table [scope=rowgroup] {{text-align:left; font-size:.8rem; opacity:.75; padding-top:.9rem}}
@media (max-width:{NARROW}) {{
  .lab-table {{font-size:.9rem}}
  .lab-table :is(table, tbody, tr, tbody :is(th, td)) {{display:block}}
  .lab-table thead {{display:none}}
  .lab-table tr {{padding:.5rem 0; border-bottom:1px solid rgba(128,128,128,.3)}}
  .lab-table tbody :is(th, td) {{padding:.05rem 0 !important; border:0; text-align:left;
    white-space:normal; overflow-wrap:anywhere}}
  .lab-table tbody th {{font-weight:600}}
  .lab-table tbody th:not(.text)::before {{content:attr(data-label) " "}}
  .lab-table tbody td {{display:grid; grid-template-columns:minmax(7rem,2fr) minmax(0,3fr);
    gap:.6rem}}
  .lab-table tbody td:empty {{display:none}}
  .lab-table tbody td::before {{content:attr(data-label); opacity:.75}}
}}
"""
"""Every page has it. The `data-label` of a cell is its column's title."""


def html_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    texts: Collection[str],
    name: str = "",
    depths: Sequence[int] = (),
    groups: Sequence[tuple[str, slice]] = (("", slice(None)),),
) -> str:
    """A table as HTML, its first column the title of a row.

    Args:
      texts: the heads of columns that hold words; the others hold numbers.
      name: what the table shows, for those who cannot see it. It may scroll to the side.
      depths: by row how far its title is indented.
      groups: headings, and the rows below each.
    """
    classes = [' class="text"' if head in texts else "" for head in heads]
    labels = [
        f'{each} data-label="{as_html(head)}"' for each, head in zip(classes, heads, strict=True)
    ]
    top = "".join(
        f'<th scope="col"{each}>{as_html(head)}</th>'
        for each, head in zip(classes, heads, strict=True)
    )
    body = []
    for index, (title, *values) in enumerate(rows):
        indent = f' style="padding-left:{0.6 + 0.8 * depths[index]:.1f}rem"' if depths else ""
        cells = "".join(
            f"<td{each}>{as_html(value)}</td>"
            for each, value in zip(labels[1:], values, strict=True)
        )
        body.append(f'<tr><th scope="row"{labels[0]}{indent}>{as_html(title)}</th>{cells}</tr>')
    bodies = []
    for group, rows_below in groups:
        head = f'<tr><th scope="rowgroup" colspan="{len(heads)}">{as_html(group)}</th></tr>'
        bodies.append(f"<tbody>{head if group else ''}{''.join(body[rows_below])}</tbody>")
    region = f' tabindex="0" role="region" aria-label="{as_html(name)}"' if name else ""
    return (
        f'<div class="lab-table"{region}><table><thead><tr>{top}</tr></thead>'
        f"{''.join(bodies)}</table></div>"
    )


def grid_as_html(
    values: Mapping[str, Sequence[object]],
    configs: Mapping[str, Any],
    more: str = WIDER,
    num_rows: int | None = None,
) -> str:
    """The beginning of one of Streamlit's grids, and how many rows follow.

    Args:
      values: the column's values by its name.
      configs: each column's configuration for Streamlit.
      more: what follows on how many rows are left out.
      num_rows: of the grid, if `values` are its beginning.
    """
    heads = [_label(configs.get(name), name) for name in values]
    rows = [
        [_cell_text(configs.get(name), value) for name, value in zip(values, row, strict=True)]
        for row in zip(*(column[:MOST_ROWS] for column in values.values()), strict=True)
    ]
    texts = {
        head
        for head, column in zip(heads, values.values(), strict=True)
        if any(isinstance(value, str | list) for value in column[:MOST_ROWS])
    }
    left_out = (num_rows or len(next(iter(values.values()), ()))) - len(rows)
    rest = f"<p>{units.counted(left_out, 'more row')}{more}</p>" if left_out > 0 else ""
    return html_table(heads, rows, texts=texts) + rest


def row_title(values: Mapping[str, Sequence[object]], configs: Mapping[str, Any], row: int) -> str:
    """A row by the values of its first columns."""
    names = list(values)[:TITLE_COLUMNS]
    return " · ".join(_cell_text(configs.get(name), values[name][row]) for name in names)


def _label(config: Any, name: str) -> str:
    return str((config or {}).get("label") or name)


def _cell_text(config: Any, value: object) -> str:
    return grid_text(value, ((config or {}).get("type_config") or {}).get("format"))


def grid_text(value: object, form: str | None) -> str:
    """A value as Streamlit's grid writes it, by the `format` of its column."""
    if value is None or value != value:  # noqa: PLR0124, NaN
        return units.MISSING
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or units.MISSING
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    if form is not None and "%" in form:
        return form % value
    number = float(value)
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.6g}"
