"""The charts of a comparison: the ratio with its interval, step times, losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from strategy_app.charts.comparing import RunPoint, losses, ratio_interval, runs_in_order, spreads
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.comparison_picker import Side
from strategy_app.widgets.step_chart import runs_chart
from strategy_app.widgets.text import as_markdown
from strategy_profiles.analysis.compare.run_comparison import ComparedRun, RunComparison
from strategy_profiles.analysis.compare.run_time import num_apart, steady_ms
from strategy_profiles.analysis.key_numbers import why_no_loss
from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.questions.comparison import change_of_loop, defined
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.tables.columns import Floats

_NONE = np.empty(0)


def show_ratio(compared: RunComparison) -> None:
    """What the page says first, as a ratio on a line: of the loop, else of step times."""
    loop, times = change_of_loop(compared), compared.times
    what = loop.metric
    ends = [1.0 + end for end in (loop.change or 0.0, *(loop.interval or ()))]
    if loop.change is None:
        what, ends = "step_time_ms", [times.ratio]
        if times.low is not None and times.high is not None:
            ends += [times.low, times.high]
    title = f"{defined(what).label}, B / A"
    chart = ratio_interval(*ends, title=title, words=defined(what).words)
    draw_chart(chart, key="compare_ratio", alt=f"{title} with its interval")


def show_curves(a: Side, b: Side, compared: RunComparison | None) -> None:
    """The step times, of one run a side as a spread, of several run by run; and the losses."""
    left, right = st.columns(2)
    with left:
        if compared is not None and compared.times.unit == "run":
            st.header("Run by run", help=DEFINITIONS["step_time_of_side"].text)
            chart = runs_in_order(_medians(compared.a), _medians(compared.b))
            draw_chart(chart, key="compare_runs", alt="Step time of each run by its start")
        else:
            st.header("Steady steps", help=DEFINITIONS["step_time_of_side"].text)
            chart = spreads(*map(_steady_ms, (a, b)))
            draw_chart(chart, key="compare_spreads", alt="Histograms of step times")
    with right:
        st.header("Loss", help=DEFINITIONS["loss"].text)
        # Segments of one run follow each other; two runs are laid over each other.
        same_run = a.opened.profile.path == b.opened.profile.path
        timed = {side.name: item for side in (a, b) if (item := _times(side)) and item.count}
        first = {name: 0 if same_run else item.step[0] for name, item in timed.items()}
        curves = {
            name: (item.step.astype(np.float64) - first[name], item.loss)
            for name, item in timed.items()
        }
        if not any(np.isfinite(loss).any() for _, loss in curves.values()):
            st.markdown(as_markdown(_no_losses(a, b)))
            return
        chart = losses(curves)
        for line in chart.data:
            line.customdata = line.x + first[line.name]
        sides = {side.name: side.opened for side in (a, b) if side.name in curves}
        runs_chart(sides, chart, key="compare_losses", alt="Loss by step of A and B")
        if a.more or b.more:
            st.caption("Of the first run of each side.")


def _no_losses(a: Side, b: Side) -> str:
    reasons = [f"{side.name}: {why_no_loss(side.opened.profile.unknown)}" for side in (a, b)]
    return f"The losses are not known. {'; '.join(reasons)}."


def _medians(runs: Sequence[ComparedRun]) -> list[RunPoint]:
    return [RunPoint(run.name, run.timed.started_ns, run.timed.time.median_ms) for run in runs]


def _steady_ms(side: Side) -> Floats:
    times = _times(side)
    return steady_ms(times, num_apart(side.segment)) if times and side.segment else _NONE


def _times(side: Side) -> StepTimes | None:
    return side.opened.ask(step_times, side.segment.segment) if side.segment else None
