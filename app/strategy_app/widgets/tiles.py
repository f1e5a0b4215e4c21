"""Number tiles: the first one largest, each with its unit, where it came from, and its definition.

A number is measured or derived, and looks it; one that is missing has no tile.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from strategy_app.widgets.text import as_html, bound
from strategy_profiles.answers.answer import KeyNumber
from strategy_profiles.reporting.definitions import DEFINITIONS

MANY = 7
"""More tiles than these are drawn in rows of four."""

_MARKS = {
    "measured": ("●", "measured"),
    "marks": ("●", "measured by in-graph timestamps"),
    "derived": ("◐", "derived: computed from other numbers"),
}

STYLE = """<style>
.lab-tiles {display:grid; gap:.75rem; grid-template-columns:repeat(auto-fit,minmax(7.6rem,1fr));
  grid-auto-rows:auto auto 1fr; margin:.25rem 0 .5rem}
/* Labels, numbers and notes of neighbours share their lines, even if one of them takes two. */
.lab-tile:not(.large) {display:grid; grid-row:span 3; grid-template-rows:subgrid; row-gap:0}
.lab-tile.large {grid-row:span 3}
.lab-tile {position:relative; padding:.7rem .55rem .65rem; border-radius:.4rem; min-width:0;
  border:1px solid color-mix(in srgb, currentColor 16%, transparent)}
.lab-tile:focus-visible {outline:2px solid currentColor; outline-offset:1px}
.lab-tile .label {font-size:.76rem; letter-spacing:-.01em; opacity:.8; overflow-wrap:anywhere}
.lab-tile .mark {font-size:.6rem; margin-left:.2rem; vertical-align:.12rem; opacity:.8}
.lab-tile .value {font-size:1.55rem; font-weight:600; line-height:1.25;
  font-variant-numeric:tabular-nums}
.lab-tile .unit {display:inline-block; font-size:.85rem; font-weight:400; opacity:.75;
  margin-left:.25rem}
.lab-tile .note .unit {display:block; margin-left:0; opacity:1; line-height:1.3}
.lab-tile .note {font-size:.78rem; opacity:.75; line-height:1.35; overflow-wrap:anywhere}
.lab-tile.large {grid-column:span 2}
.lab-tile.large .value {font-size:2.9rem; line-height:1.15}
.lab-tile.large .unit {font-size:1.2rem}
.lab-tile .definition {display:none; position:absolute; left:0; top:calc(100% + 4px); z-index:50;
  width:max-content; max-width:min(18rem,80vw); padding:.55rem .7rem; border-radius:.4rem;
  background:#16202B; color:#F3F5F8; font-size:.8rem; line-height:1.4; white-space:pre-line;
  box-shadow:0 4px 16px rgba(0,0,0,.3); pointer-events:none}
.lab-tile:hover .definition, .lab-tile:focus .definition {display:block}
.lab-tile:not(.large) .definition {left:50%; transform:translateX(-50%)}
.lab-tiles.many {grid-template-columns:repeat(4,minmax(0,1fr)); grid-auto-rows:auto}
.lab-tiles.pair {grid-template-columns:2fr minmax(0,1fr)}
.lab-tiles.pair .lab-tile.large {grid-column:auto}
.lab-tiles.pair .lab-tile.large .value {font-size:3.4rem}
.lab-tiles.strip {display:flex; gap:.4rem; overflow-x:auto; margin:0}
.lab-tiles.strip .lab-tile {display:block; flex:1 0 7.5rem; padding:.3rem .5rem}
.lab-tiles.strip .value {font-size:1.15rem; line-height:1.3}
.lab-tiles.strip .value .unit, .lab-tiles.strip .note .unit {font-size:.8rem; display:inline}
.lab-tiles.strip .definition {position:fixed; top:auto; left:auto; transform:none}
@media (max-width:75rem) {
  .lab-tiles, .lab-tiles.many {grid-template-columns:repeat(4,minmax(0,1fr)); grid-auto-rows:auto}
}
@media (max-width:48rem) {
  .lab-tiles, .lab-tiles.many {grid-template-columns:repeat(2,minmax(0,1fr))}
  .lab-tile:nth-child(even) .definition {left:0; right:auto; transform:none}
  .lab-tile:nth-child(odd):not(.large) .definition {left:auto; right:0; transform:none}
  .lab-tiles .lab-tile.large .value {font-size:2.3rem}
}
</style>"""


def show_strip(numbers: Sequence[KeyNumber]) -> None:
    """Draw numbers in one thin row, which scrolls to the side where it must."""
    cells = "".join(_cell(number, large=False) for number in numbers)
    if cells:
        st.html(f'{STYLE}<div class="lab-tiles strip">{cells}</div>')


def show_tiles(numbers: Sequence[KeyNumber], *, first_is_large: bool = False) -> None:
    """Draw the tiles in a row that wraps."""
    cells = [_cell(item, large=first_is_large and not at) for at, item in enumerate(numbers)]
    kind = "many" if len(numbers) > MANY else "pair" if len(numbers) == 2 else ""
    st.html(f'{STYLE}<div class="{f"lab-tiles {kind}".strip()}">{"".join(cells)}</div>')


def _cell(number: KeyNumber, *, large: bool) -> str:
    value, _, unit_text = number.text.partition(" ")
    symbol, source = _MARKS[number.source or "measured"]
    hint = f"{DEFINITIONS[number.key].text}\n{symbol} {source}."
    unit = f'<span class="unit">{as_html(unit_text)}</span>'
    # A long unit goes below its number, where a narrow tile has room for both.
    beside, below = (unit, "") if len(unit_text) <= 4 or large else ("", unit)
    return (
        f'<div class="lab-tile{" large" * large}" tabindex="0">'
        f'<div class="label">{as_html(number.label)}'
        f'<span class="mark" aria-label="{as_html(source)}">{symbol}</span></div>'
        f'<div class="value">{as_html(value)}{beside}</div>'
        f'<div class="note">{below}{bound(as_html(number.note))}</div>'
        f'<div class="definition" role="tooltip">{_lines(hint)}</div></div>'
    )


def _lines(text: str) -> str:
    return "\n".join(as_html(line) for line in text.splitlines())
