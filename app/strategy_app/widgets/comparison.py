"""The answer of a comparison: verdict, interval, phases, every metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
import streamlit as st

from strategy_app.charts.comparing import (
    RunPoint,
    losses,
    ratio_interval,
    runs_in_order,
    spreads,
)
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.comparison_picker import Side
from strategy_app.widgets.step_chart import runs_chart
from strategy_app.widgets.text import as_html, as_markdown, sentence_as_html
from strategy_app.widgets.tiles import Tile, show_tiles
from strategy_app.widgets.verdict import show_sentence
from strategy_profiles.analysis.breakdown import StepBreakdown, step_breakdown
from strategy_profiles.analysis.compare.comparison import Comparison
from strategy_profiles.analysis.compare.metrics import METRICS
from strategy_profiles.analysis.compare.run_comparison import (
    ComparedRun,
    RunComparison,
)
from strategy_profiles.analysis.compare.run_time import num_apart, steady_ms
from strategy_profiles.analysis.compare.text import (
    answer,
    change_interval,
    change_text,
    evidence,
)
from strategy_profiles.analysis.key_numbers import why_no_loss
from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.answers.answer import Bars
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.tables.columns import Floats
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile

_NONE = np.empty(0)
UNLIKE = 0.02
"""A bar that differs more than this from the step time above it says why."""
STYLE = """<style>
.lab-figures {width:100%; border-collapse:collapse; font-size:.9rem;
  font-variant-numeric:tabular-nums}
.lab-figures th, .lab-figures td {padding:.4rem .6rem; font-weight:400; text-align:right;
  border-bottom:1px solid color-mix(in srgb, currentColor 16%, transparent)}
.lab-figures th:first-child {text-align:left; overflow-wrap:anywhere}
.lab-figures td {white-space:nowrap}
.lab-figures:not(.each) td:last-child {font-weight:600}
.lab-figures [scope=rowgroup] {font-size:.8rem; opacity:.75; padding-top:1rem}
.lab-figures thead th {opacity:.75; vertical-align:bottom}
.lab-figures small {display:block; opacity:.75}
@media (max-width:48rem) {.lab-figures th, .lab-figures td {padding:.35rem .3rem}}
</style>"""
_EVIDENCE = """<style>
.lab-evidence p {font-size:.875rem; line-height:1.6; opacity:.75; margin:0 0 .75rem;
  overflow-wrap:anywhere; text-wrap:pretty}
</style>"""
_DEFINED_AS = {
    "loop_time_ms": "loop_time",
    "loop_examples_per_second": "loop_throughput",
    "step_time_ms": "step_time_of_side",
    "examples_per_second_at_median": "throughput_of_side",
    "bytes_per_step.collective": "traffic",
    "bytes_per_step.transfer": "transfer_bytes",
    "busbw_gbps": "busbw",
    "late_ms": "slowest",
}
"""Metrics of a comparison whose definition has another name."""


def show_verdict(compared: RunComparison) -> None:
    """The sentence, the warnings, the ratio with its interval, what it all rests on."""
    times = compared.times
    verdict, rest = answer(compared)
    show_sentence(f"<b>{as_html(verdict)}</b>{as_html(rest)}")
    warnings = [as_markdown(warning) for warning in compared.warnings]
    if len(warnings) == 1:
        st.warning(warnings[0])
    elif warnings:  # in one box: one for each would fill a screen above the numbers
        st.warning("\n".join(f"- {warning}" for warning in warnings))
    left, right = st.columns([3, 2])
    with left:
        show_tiles(_tiles(times), first_is_large=True)
    with right:
        chart = ratio_interval(times.ratio, times.low, times.high)
        draw_chart(chart, key="compare_ratio", alt="Ratio of step times with its interval")
    rest_on = "".join(f"<p>{sentence_as_html(sentence)}</p>" for sentence in evidence(compared))
    st.html(f'{_EVIDENCE}<div class="lab-evidence">{rest_on}</div>')


def _tiles(times: Comparison) -> list[Tile]:
    known = times.low is not None and times.high is not None
    interval = f"95 %: {times.low:.3f} to {times.high:.3f}" if known else (times.reason or "")
    definition = DEFINITIONS["ratio"].text
    step = DEFINITIONS["step_time_of_side"]
    sides = [
        Tile(
            f"{side}, {step.label.lower()}",
            units.number(step_ms),
            step.unit,
            step.text,
            "measured",
            note=f"{units.rate(rate, 'examples')}; {units.counted(num, 'run')}",
        )
        for side, step_ms, rate, num in (
            ("A", times.a_ms, times.a_rate, times.num_runs[0]),
            ("B", times.b_ms, times.b_rate, times.num_runs[1]),
        )
    ]
    ratio = Tile("B / A, step time", f"{times.ratio:.3f}", "", definition, "derived", note=interval)
    return [ratio, *sides]


def phases(a: Side, b: Side, compared: RunComparison) -> Bars:
    """Phase by phase: two stacked bars, means over the replicas and the runs of a side."""
    found = {
        side.name: [item for run in side.runs if (item := _breakdown(side, run))] for side in (a, b)
    }
    reasons = {
        f"{side}: {item.reason}": None for side, own in found.items() for item in own if item.reason
    }
    notes = ["; ".join(reasons)] if reasons else []
    step_times = (compared.times.a_ms, compared.times.b_ms)
    for (side, own), step_ms in zip(found.items(), step_times, strict=True):
        wall = _mean(own, "wall")
        if wall and abs(wall / step_ms - 1) > UNLIKE:
            notes.append(f"The bar of {side} adds up to {_about_bar(own[0], wall, step_ms)}.")
    return Bars(
        "phases",
        "Phase by phase",
        tuple(found),
        {
            phase: each
            for phase in CATEGORIES
            if any(each := tuple(_mean(own, phase) for own in found.values())) or phase != "delay"
        },
        "ms per step",
        definition="replica_time",
        notes=tuple(notes),
    )


def _about_bar(item: StepBreakdown, wall_ms: float, step_ms: float) -> str:
    """Return the length of a bar, of what it is the mean, and why the step time differs from it."""
    if not item.is_in_sync:
        which = "the mean step of a worker; steps of the workers overlap, and one ends every"
    elif item.source == "measured":
        which = "the mean of typical captured steps; the step time, the median of the others, is"
    else:
        which = "the mean of typical steps; the step time, the median of all steady steps, is"
    return f"{units.milliseconds(wall_ms)}, {which} {units.milliseconds(step_ms)}"


def _mean(found: Sequence[StepBreakdown], phase: str) -> float | None:
    known = [value for item in found if (value := item.mean_ms(phase)) is not None]
    return sum(known) / len(known) if known else None


def show_metrics(compared: RunComparison) -> None:
    """Show a table of all metrics of both runs, with the reason for each missing value."""
    st.header("Every figure")
    rows = [
        {
            "metric": metric_title(item.metric),
            "statistic": METRICS[item.metric].statistic,
            "A": units.number(item.a),
            "B": units.number(item.b),
            "change": change_text(item),
            "interval": change_interval(item),
            "remark": item.reason or "",
        }
        for item in compared.metrics
    ]
    st.html(STYLE + _table(rows))
    if any(row["interval"] for row in rows):
        st.caption("Below a change: its 95 % confidence interval.")


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    """Text that wraps: on a phone, a grid would cut the names or push the change off the screen.

    Rows of one statistic follow each other below its name.
    """
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("A", "B", "B against A"))
    bodies = []
    for statistic, members in groupby(rows, key=itemgetter("statistic")):
        body = "".join(
            f'<tr><th scope="row">{as_html(row["metric"])}'
            + (f"<small>{as_html(row['remark'])}</small>" if row["remark"] else "")
            + "</th>"
            + "".join(f"<td>{as_html(row[name])}</td>" for name in ("A", "B"))
            + f"<td>{as_html(row['change'])}"
            + (f"<small>{as_html(row['interval'])}</small>" if row["interval"] else "")
            + "</td></tr>"
            for row in members
        )
        head = f'<tr><th scope="rowgroup" colspan="4">{as_html(statistic)}</th></tr>'
        bodies.append(f"<tbody>{head}{body}</tbody>")
    return (
        f'<table class="lab-figures"><thead><tr><td></td>{heads}</tr></thead>'
        f"{''.join(bodies)}</table>"
    )


def metric_title(metric: str) -> str:
    """`compute_ms` as `Compute, ms`, in the words of the definitions."""
    found = DEFINITIONS.get(_DEFINED_AS.get(metric, metric.removesuffix("_ms")))
    if found is None:
        return metric
    return f"{found.label}, {found.unit}" if found.unit else found.label


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
            timed = [_steady_ms(side) for side in (a, b)]
            draw_chart(spreads(*timed), key="compare_spreads", alt="Histograms of step times")
    with right:
        st.header("Loss", help=DEFINITIONS["loss"].text)
        # Segments of one run follow each other; two runs are laid over each other.
        same_run = a.opened.profile.path == b.opened.profile.path
        times = {side.name: _times(side, side.opened) for side in (a, b)}
        curves = {
            name: (item.step.astype(np.float64) - (0 if same_run else item.step[0]), item.loss)
            for name, item in times.items()
            if item is not None and item.count
        }
        first = {name: item.step[0] for name, item in times.items() if item and item.count}
        if not any(np.isfinite(loss).any() for _, loss in curves.values()):
            st.markdown(as_markdown(_no_losses(a, b)))
            return
        chart = losses(curves)
        for line in chart.data:
            line.customdata = line.x + (0 if same_run else first[line.name])
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
    times = _times(side, side.opened)
    return steady_ms(times, num_apart(side.segment)) if times and side.segment else _NONE


def _times(side: Side, run: OpenRun) -> StepTimes | None:
    return run.ask(step_times, side.segment.segment) if side.segment else None


def _breakdown(side: Side, run: OpenRun) -> StepBreakdown | None:
    return run.ask(breakdown_of, side.segment.segment) if side.segment else None


def breakdown_of(profile: Profile, number: int) -> StepBreakdown | None:
    """Return the breakdown of segment `number`; None if the run has no such segment."""
    segment = next((item for item in profile.segments if item.segment == number), None)
    return step_breakdown(profile, segment) if segment else None
