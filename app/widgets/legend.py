"""A legend as text of the page: long names wrap, and take no room from the chart."""

from __future__ import annotations

import html
from collections.abc import Iterable

import streamlit as st

from strategy_lab.profiles.reporting.palette import GREY

_STYLE = f"""<style>
.lab-legend {{display:flex; flex-wrap:wrap; gap:.1rem .9rem; font-size:.8rem}}
.lab-legend i {{display:inline-block; width:.75rem; height:.75rem; border-radius:2px;
  border:1px solid {GREY}; margin-right:.35rem; vertical-align:-.06rem}}
</style>"""


def show_legend(entries: Iterable[tuple[str, str]]) -> None:
    """Show pairs of name and colour; names are escaped here."""
    shown = "".join(
        f'<span><i style="background:{html.escape(colour)}"></i>{html.escape(name)}</span>'
        for name, colour in entries
    )
    st.html(f'{_STYLE}<div class="lab-legend">{shown}</div>')
