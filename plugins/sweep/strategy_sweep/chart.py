"""A sweep's configurations: throughput against what it costs, with the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from strategy_app.charts.base import alpha, figure, label
from strategy_profiles.reporting.palette import GREY, SERIES_COLOUR
from strategy_sweep.results import COST_NAMES, Cost, Estimate, Result, Results, cost_of

_ROOM = 1.4
_NAMED_BELOW = 0.9
"""Share of the chart's height below which the winner's name is, however wide its interval."""
_UNITS: dict[Cost, str] = {"step_ms": "step time, ms", "num_replicas": "number of replicas"}
_LONGEST_NAME = 24
"""Letters: a longer name of the winner does not fit a narrow screen; the legend has its star."""


def pareto(results: Results, cost: Cost) -> go.Figure:
    """Every configuration as a point with its interval; the front as a line, the winner named."""
    chart = figure(height=380, x_title=_UNITS[cost], y_title="examples/s")
    front = set(results.pareto(cost))
    known = [item for item in results.table if cost_of(item, cost) is not None]
    ends = sorted((item for item in known if item.index in front), key=lambda item: _x(item, cost))
    on_front = "on the Pareto front" if len(known) > 1 else "measured"
    if len(ends) > 1:
        on_front = "on the front"
        chart.add_scatter(
            x=[_x(item, cost) for item in ends],
            y=[_rate(item).middle for item in ends],
            mode="lines",
            line={"color": SERIES_COLOUR, "width": 2, "shape": "hv"},
            name=f"Pareto front against {COST_NAMES[cost]}",
            hoverinfo="skip",
        )
    others = [item for item in known if item.index not in front and item.state != "fastest"]
    _points(chart, others, cost, "others", alpha(GREY, 0.75), "circle", 9)
    on_it = [item for item in ends if item.state != "fastest"]
    _points(chart, on_it, cost, on_front, SERIES_COLOUR, "circle", 11)
    _points(
        chart,
        [i for i in known if i.state == "fastest"],
        cost,
        "fastest",
        SERIES_COLOUR,
        "star",
        19,
    )
    top = _ROOM * max(_rate(item).middle for item in known)
    winner = next((item for item in known if item.state == "fastest"), None)
    if winner is not None and len(winner.label) <= _LONGEST_NAME:
        chart.add_annotation(
            x=_x(winner, cost),
            y=min(_rate(winner).high or 0.0, _NAMED_BELOW * top) or _rate(winner).middle,
            text=f"<b>{label(winner.label)}</b>",
            **_beside(winner, known, cost),
        )
    chart.update_xaxes(rangemode="tozero")
    # A wide interval of one configuration does not flatten the others.
    chart.update_yaxes(range=[0, top])
    if cost == "num_replicas":
        chart.update_xaxes(dtick=1 if max(_x(item, cost) for item in known) <= 16 else None)
    return chart


def _points(
    chart: go.Figure,
    items: Sequence[Result],
    cost: Cost,
    name: str,
    colour: str,
    symbol: str,
    size: int,
) -> None:
    if not items:
        return
    chart.add_scatter(
        x=[_x(item, cost) for item in items],
        y=[_rate(item).middle for item in items],
        error_y=_errors([_rate(item) for item in items], colour),
        mode="markers",
        name=name,
        marker={"color": colour, "size": size, "symbol": symbol},
        customdata=[label(item.label) for item in items],
        hovertemplate="%{customdata}: %{y:,.4~g} examples/s, %{x:.4~g} "
        f"{'ms' if cost == 'step_ms' else 'replicas'}<extra></extra>",
    )


def _errors(estimates: Sequence[Estimate], colour: str) -> dict[str, Any]:
    """The intervals; a point with fewer than three runs has none."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0 if each.high is None else each.high - each.middle for each in estimates],
        "arrayminus": [0 if each.low is None else each.middle - each.low for each in estimates],
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }


def _beside(winner: Result, known: Sequence[Result], cost: Cost) -> dict[str, Any]:
    """The winner's name, on the side with more room."""
    is_left = _x(winner, cost) * 2 < max(_x(item, cost) for item in known)
    return {
        "xanchor": "left" if is_left else "right",
        "xshift": 6 if is_left else -6,
        "yanchor": "bottom",
        "yshift": 4,
        "showarrow": False,
        "font": {"size": 13},
    }


def _x(item: Result, cost: Cost) -> float:
    x = cost_of(item, cost)
    assert x is not None
    return x


def _rate(item: Result) -> Estimate:
    assert item.examples_per_second_at_median is not None
    return item.examples_per_second_at_median
