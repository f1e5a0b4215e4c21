"""A bar per replica, made of its phases: plain HTML, which is there with the sentence above it.

The library that draws charts comes later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from strategy_app.widgets.text import as_html
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import PHASE_COLOURS, phase_name

STYLE = """<style>
.lab-bars {font-size:.85rem; line-height:1.35}
.lab-bars .legend {display:flex; flex-wrap:wrap; gap:.15rem .9rem; margin:0 0 .4rem; padding:0;
  list-style:none; font-size:.8rem}
.lab-bars .legend i {display:inline-block; width:.75em; height:.75em; margin-right:.35em}
.lab-bars .rows {display:grid; grid-template-columns:fit-content(40%) 1fr max-content;
  gap:.3rem .6rem; align-items:center; max-height:34rem; overflow-y:auto}
.lab-bars .row {display:contents}
.lab-bars .name {overflow-wrap:anywhere}
.lab-bars .bar {display:flex; height:1.05rem; min-width:0}
.lab-bars .bar i:hover {filter:brightness(1.15)}
.lab-bars .sum {text-align:right; font-variant-numeric:tabular-nums}
</style>"""


def show_phase_bars(
    names: Sequence[str], phases: Mapping[str, Sequence[float | None]], *, key: str
) -> None:
    """Draw the bars, the longest as wide as its column, in the order of `PHASE_COLOURS`.

    `phases[name][i]` is phase `name` of bar `i` in milliseconds; None is left out.
    """
    shown = {
        phase: phases[phase]
        for phase in PHASE_COLOURS
        if phase in phases and (phase != "delay" or any(phases[phase]))
    }
    sums = [sum(values[i] or 0.0 for values in shown.values()) for i in range(len(names))]
    longest = max(sums, default=0.0) or 1.0
    rows = [
        f'<div class="row" role="listitem"><span class="name">{as_html(name)}</span>'
        f'<span class="bar">{_parts(shown, i, longest)}</span>'
        f'<span class="sum">{as_html(units.milliseconds(sums[i]))}</span></div>'
        for i, name in enumerate(names)
    ]
    legend = [f"<li>{_swatch(phase)}{as_html(phase_name(phase))}</li>" for phase in shown]
    with st.container(key=key):
        st.html(
            f'{STYLE}<div class="lab-bars"><ul class="legend">{"".join(legend)}</ul>'
            f'<div class="rows" role="list" aria-label="Mean time per phase">{"".join(rows)}</div>'
            "</div>"
        )


def _parts(phases: Mapping[str, Sequence[float | None]], row: int, longest: float) -> str:
    return "".join(
        f'<i role="img" style="width:{100 * value / longest:.3f}%;'
        f'background:{PHASE_COLOURS[phase]}" '
        f'title="{as_html(said)}" aria-label="{as_html(said)}"></i>'
        for phase, values in phases.items()
        if (value := values[row]) and (said := f"{phase_name(phase)} {units.milliseconds(value)}")
    )


def _swatch(phase: str) -> str:
    return f'<i style="background:{PHASE_COLOURS[phase]}"></i>'
