"""A bar per name, made of its parts: plain HTML, which is there with the sentence above it.

The library that draws charts comes later.
"""

from __future__ import annotations

import streamlit as st

from strategy_app.widgets.text import as_html
from strategy_profiles.answers.answer import Bars
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import PART_COLOURS, phase_name

STYLE = """<style>
.lab-bars {font-size:.85rem; line-height:1.35}
.lab-bars :is(.top, .legend) {display:flex; flex-wrap:wrap; gap:.15rem .9rem; margin:0; padding:0;
  list-style:none; font-size:.8rem}
.lab-bars .top {margin:0 0 .4rem}
.lab-bars .legend i {display:inline-block; width:.75em; height:.75em; margin-right:.35em}
.lab-bars .unit {opacity:.75}
.lab-bars .rows {display:grid; grid-template-columns:fit-content(40%) 1fr max-content;
  gap:.3rem .6rem; align-items:center; max-height:34rem; overflow-y:auto}
.lab-bars .row {display:contents}
.lab-bars .name {overflow-wrap:anywhere}
.lab-bars .bar {display:flex; height:1.05rem; min-width:0}
.lab-bars .bar i:hover {filter:brightness(1.15)}
.lab-bars .sum {text-align:right; font-variant-numeric:tabular-nums}
</style>"""


def show_bars(bars: Bars) -> None:
    """Draw the bars, the longest as wide as its column; a part that is not known is left out."""
    if not bars.longest:
        return
    rows = [
        f'<div class="row" role="listitem"><span class="name">{as_html(name)}</span>'
        f'<span class="bar">{_parts(bars, i)}</span>'
        f'<span class="sum">{as_html(units.milliseconds(whole))}</span></div>'
        for i, (name, whole) in enumerate(zip(bars.names, bars.sums, strict=True))
    ]
    phases_with_time = [phase for phase, values in bars.parts.items() if any(values)]
    legend = [
        f"<li>{_swatch(phase)}{as_html(phase_name(phase))}</li>" for phase in phases_with_time
    ]
    title = as_html(f"{bars.title}, {bars.unit}")
    with st.container(key=f"bars_{bars.key}"):
        st.html(
            f'{STYLE}<div class="lab-bars"><div class="top"><ul class="legend">{"".join(legend)}'
            f'</ul><span class="unit">{as_html(bars.unit)}</span></div>'
            f'<div class="rows" role="list" aria-label="{title}">{"".join(rows)}</div></div>'
        )


def _parts(bars: Bars, row: int) -> str:
    return "".join(
        f'<i role="img" style="width:{100 * value / bars.longest:.3f}%;'
        f'background:{PART_COLOURS[phase]}" '
        f'title="{as_html(said)}" aria-label="{as_html(said)}"></i>'
        for phase, values in bars.parts.items()
        if (value := values[row]) and (said := f"{phase_name(phase)} {units.milliseconds(value)}")
    )


def _swatch(phase: str) -> str:
    return f'<i style="background:{PART_COLOURS[phase]}"></i>'
