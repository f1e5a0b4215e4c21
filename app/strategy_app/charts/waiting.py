"""Waiting for the others against moving tensors: two bars stacked per replica."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from strategy_app.charts.phases import breakdown


def wait_and_transfer(
    names: Sequence[str],
    wait_ms: Sequence[float | None],
    transfer_ms: Sequence[float | None],
    *,
    unit: str,
) -> go.Figure:
    """One bar per replica; `unit` is what the numbers are of, e.g. `ms per call`."""
    chart = breakdown(names, {"wait": wait_ms, "transfer": transfer_ms})
    chart.update_xaxes(title=unit)
    return chart
