"""A Plotly figure in the page's colours, drawn by the lab's own copy of Plotly's JavaScript.

Streamlit's own element for charts has three times as much of that library, and draws each figure
several times over (docs/decisions/page.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import plotly.graph_objects as go
import streamlit as st

from strategy_app.components.packaged import Packaged
from strategy_app.server.chart_library import ADDRESS
from strategy_profiles.reporting.palette import REPLICA_COLOURS

_chart = Packaged("chart", isolate_styles=False)
USUAL_HEIGHT_PX = 450


class Click(NamedTuple):
    """The point that the viewer just clicked on."""

    curve: int
    """The number of its trace."""
    x: Any
    customdata: Any


def chart_view(
    figure: go.Figure,
    *,
    key: str,
    alt: str,
    has_clicks: bool = False,
    on_click: Callable[[Click], None] | None = None,
) -> Click | None:
    """Draw a figure; returns a click on one of its points, in the run of the page that follows it.

    Args:
      alt: what the chart shows, for those who cannot see it.
      has_clicks: whether the page gets clicks.
      on_click: gets a click before that run.
    """

    def clicked() -> None:
        click = as_click((st.session_state.get(key) or {}).get("clicked"))
        if on_click is not None and click is not None:
            on_click(click)

    height = figure.layout.height or USUAL_HEIGHT_PX
    result = _chart(
        key=key,
        height=height,
        on_clicked_change=clicked,
        data={
            "figure": figure.to_json(),
            "library": ADDRESS,
            "alt": alt,
            "height": height,
            "colours": list(REPLICA_COLOURS),
            "clicks": has_clicks,
        },
    )
    return as_click(getattr(result, "clicked", None))


def as_click(fields: Any) -> Click | None:
    """The click that a browser sent; None if it sent none."""
    if not isinstance(fields, dict) or type(fields.get("curve")) is not int:
        return None
    return Click(fields["curve"], fields.get("x"), fields.get("customdata"))
