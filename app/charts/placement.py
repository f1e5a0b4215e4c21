"""The device map: on every device its ops by type, and the bytes of its variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from strategy_lab.app.charts.base import CLEAR, figure, label
from strategy_lab.profiles.reporting.palette import GREY, OP_TYPE_COLOURS

SHOWN_TYPES = len(OP_TYPE_COLOURS)


def ops_by_type(devices: Sequence[str], counts: Sequence[Mapping[str, int]]) -> go.Figure:
    """Stacked bars of op counts per device; all but the commonest types are one `other`."""
    total: Counter[str] = Counter()
    for of_device in counts:
        total.update(of_device)
    common = [name for name, _ in total.most_common(SHOWN_TYPES)]
    parts = {name: [float(of_device.get(name, 0)) for of_device in counts] for name in common}
    rest = [sum(c.values()) - sum(c.get(name, 0) for name in common) for c in counts]
    if any(rest):
        parts["other"] = [float(value) for value in rest]
    return _bars(devices, parts, x_title="ops", hover="%{x:,.0f} ops")


def variable_bytes(devices: Sequence[str], parts: Mapping[str, Sequence[float]]) -> go.Figure:
    """Stacked bars of bytes per device, by kind of variable."""
    chart = _bars(devices, parts, x_title="bytes of variables", hover="%{x:.3s}B")
    chart.update_xaxes(tickformat="~s", ticksuffix="B")
    return chart


def _bars(
    devices: Sequence[str], parts: Mapping[str, Sequence[float]], *, x_title: str, hover: str
) -> go.Figure:
    chart = figure(
        height=min(110 + 30 * len(devices), 680),
        x_title=x_title,
        barmode="stack",
        legend_traceorder="normal",
    )
    shown = [label(name, 30) for name in devices]
    for number, (name, values) in enumerate(parts.items()):
        colour = CLEAR if name == "other" else OP_TYPE_COLOURS[number % SHOWN_TYPES]
        chart.add_bar(
            y=shown,
            x=list(values),
            name=label(name, 30),
            orientation="h",
            marker={"color": colour, "line": {"color": GREY, "width": 1}},
            hovertemplate=f"{label(name, 60)}: {hover}<extra></extra>",
        )
    chart.update_yaxes(autorange="reversed", showgrid=False, type="category")
    chart.update_xaxes(showgrid=True, rangemode="tozero")
    return chart
