"""What every figure shares: quiet axes, one legend above, names that cannot carry markup."""

from __future__ import annotations

import html
from typing import Any

import plotly.graph_objects as go

CLEAR = "rgba(0,0,0,0)"
USUAL_TICKS = {"l": 74, "r": 20, "b": 67}
"""Margins in pixels for most titles and ticks. Where one needs more, Plotly draws the chart, and
then once more with the margin that fits."""
FEW_STEPS = 8
"""On an axis of fewer, Plotly would mark half steps."""
GRID = "rgba(128,128,128,0.22)"


def figure(
    *,
    height: int = 280,
    x_title: str = "",
    y_title: str = "",
    hovermode: str | bool = "closest",
    left_px: int | None = None,
    top_px: int = 40,
    **layout: Any,
) -> go.Figure:
    """An empty figure with the house's axes; what `layout` names is replaced as a whole.

    Args:
      left_px: margin for ticks that need another than the usual one.
      top_px: margin for the legend: one row of lines by default.
    """
    if left_px is None:
        left_px = USUAL_TICKS["l"] if y_title else 8
    axis = {"zeroline": False, "automargin": True}
    house = {
        "height": height,
        "margin": {
            "l": left_px,
            "r": USUAL_TICKS["r"],
            "t": top_px,
            "b": USUAL_TICKS["b"] if x_title else 8,
        },
        # The theme sets the background. Plotly derives that of its buttons from it: with a
        # transparent background, the buttons were black.
        "hovermode": hovermode,
        # At the top of the figure: placed above the axes, it covers them after a window has grown.
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "title": None,
        },
        "bargap": 0.25,
        # Zoom and hidden traces survive a redraw with new data.
        "uirevision": "keep",
        "xaxis": {"title": {"text": x_title}, "showgrid": False, **axis},
        "yaxis": {"title": {"text": y_title}, "gridcolor": GRID, **axis},
    }
    # At once: a figure that is made and then updated takes nine times as long, 11 ms.
    return go.Figure(layout=house | layout)


def label(name: str, limit: int = 48) -> str:
    """A name from a run as Plotly text: markup escaped, long ones shortened in the middle."""
    plain = "".join(char if char.isprintable() else "·" for char in name)
    if len(plain) > limit:
        keep = (limit - 1) // 2
        plain = f"{plain[: limit - 1 - keep]}…{plain[-keep:]}"
    return html.escape(plain, quote=False)


def fit_steps(chart: go.Figure, first: float, last: float) -> None:
    """Mark whole steps alone on an axis from step `first` to step `last`."""
    if last - first < FEW_STEPS:
        chart.update_xaxes(dtick=1)


def alpha(colour: str, opacity: float) -> str:
    """`#RRGGBB` as `rgba(...)` with an opacity between 0 and 1."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def mark_moment(
    chart: go.Figure,
    x: float,
    text: str,
    colour: str,
    *,
    y: float | None = None,
    hover: str = "",
) -> None:
    """A dotted line at a moment, and in words what happened then.

    The words are above the chart; `y`, 0 to 1, is another height. `hover` is shown at the pointer.
    """
    chart.add_vline(x=x, line={"color": colour, "width": 1, "dash": "dot"})
    chart.add_annotation(
        x=x,
        y=1.0 if y is None else y,
        yref="paper",
        yanchor="bottom" if y is None else "top",
        xanchor="left",
        xshift=4,
        text=text or " ",
        hovertext=hover or None,
        showarrow=False,
        font={"size": 12},
    )
