"""The answer of a comparison: verdict, interval, phases, every metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from strategy_lab.app.charts.comparing import losses, ratio_interval, spreads
from strategy_lab.app.charts.phases import breakdown
from strategy_lab.app.parts.evidence import say_unlike
from strategy_lab.app.parts.sides import Side
from strategy_lab.app.parts.text import as_html, as_markdown
from strategy_lab.app.parts.tiles import Tile, show_tiles
from strategy_lab.app.parts.verdict import show_sentence
from strategy_lab.profiles import units
from strategy_lab.profiles.analysis.breakdown import StepBreakdown, step_breakdown
from strategy_lab.profiles.analysis.comparison import Comparison
from strategy_lab.profiles.analysis.run_comparison import MetricChange, RunComparison
from strategy_lab.profiles.analysis.steps import StepTimes, step_times
from strategy_lab.profiles.definitions import DEFINITIONS
from strategy_lab.profiles.schema import CATEGORIES
from strategy_lab.profiles.store import Profile

_NONE = np.empty(0)
_STYLE = """<style>
.lab-figures {width:100%; border-collapse:collapse; font-size:.9rem;
  font-variant-numeric:tabular-nums}
.lab-figures th, .lab-figures td {padding:.4rem .6rem; font-weight:400; text-align:right;
  border-bottom:1px solid color-mix(in srgb, currentColor 16%, transparent)}
.lab-figures th:first-child {text-align:left; overflow-wrap:anywhere}
.lab-figures td {white-space:nowrap}
.lab-figures td:last-child {font-weight:600}
.lab-figures thead th {opacity:.75; vertical-align:bottom}
.lab-figures small {display:block; opacity:.75}
@media (max-width:48rem) {.lab-figures th, .lab-figures td {padding:.35rem .3rem}}
</style>"""
_DEFINED_AS = {
    "step_time_ms": "step_time",
    "examples_per_second": "throughput",
    "bytes_per_step.collective": "traffic",
    "bytes_per_step.transfer": "transfer_bytes",
    "busbw_gbps": "busbw",
    "late_ms": "slowest",
}
"""Metrics of a comparison whose definition has another name."""


def show_verdict(compared: RunComparison) -> None:
    """The sentence, the warnings, the ratio with its interval."""
    times = compared.times
    show_sentence(_sentence(times))
    for warning in compared.warnings:
        st.warning(as_markdown(warning))
    left, right = st.columns([3, 2])
    with left:
        show_tiles(_tiles(times), first_is_large=True)
    with right:
        chart = ratio_interval(times.ratio, times.low, times.high)
        st.plotly_chart(chart, key="compare_ratio", alt="Ratio of step times with its interval")
    counted = (
        f"{num:,} steps of {name}, worth {worth:,.0f} independent ones"
        for num, worth, name in zip(times.num_steps, times.num_independent, "AB", strict=True)
    )
    st.caption(
        f"{'; '.join(counted)}. Warm-up is left out. How much two runs of the same thing differ "
        "from one day to the next is not in these numbers."
    )


def _sentence(times: Comparison) -> str:
    """The verdict as HTML."""
    lengths = f"{units.milliseconds(times.a_ms)} a step in A, {units.milliseconds(times.b_ms)} in B"
    if not times.is_different:
        why = f"{times.reason}." if times.reason else "the difference is within the noise."
        return f"<b>Cannot tell which is faster</b>: {as_html(lengths)}; {as_html(why)}"
    quick, factor = ("B", 1 / times.ratio) if times.ratio < 1 else ("A", times.ratio)
    return f"<b>{quick} is {factor:.2f} times as fast</b>: {as_html(lengths)}."


def _tiles(times: Comparison) -> list[Tile]:
    known = times.low is not None and times.high is not None
    interval = f"95 %: {times.low:.3f} to {times.high:.3f}" if known else (times.reason or "")
    ratio = DEFINITIONS["ratio"]
    step = DEFINITIONS["step_time"].text
    return [
        Tile("B / A, step time", f"{times.ratio:.3f}", "", ratio.text, "derived", note=interval),
        Tile("A", units.number(times.a_ms), "ms", step, "measured", note="a step"),
        Tile("B", units.number(times.b_ms), "ms", step, "measured", note="a step"),
    ]


def show_phases(a: Side, b: Side) -> None:
    """Phase by phase: two stacked bars, means over the replicas."""
    st.subheader("Phase by phase", help=DEFINITIONS["replica_time"].text)
    sides = [(side, _breakdown(side)) for side in (a, b)]
    missing = [f"{side.name}: {item.reason}" for side, item in sides if item and item.reason]
    phases = {
        phase: [item.mean_ms(phase) if item else None for _, item in sides] for phase in CATEGORIES
    }
    chart = breakdown([side.name for side, _ in sides], phases)
    st.plotly_chart(chart, key="compare_phases", alt="Mean time per phase of A and B")
    if missing:
        st.caption(as_markdown("; ".join(missing)))
    for side, item in sides:
        times = _times(side)
        if item and times:
            say_unlike(item, times.median_ms, which=f"{side.name}: ")


def show_metrics(compared: RunComparison) -> None:
    """Every number of both; where one is missing, why."""
    rows = [
        {
            "metric": metric_title(item.metric),
            "A": units.number(item.a),
            "B": units.number(item.b),
            "change": change_text(item),
            "remark": item.reason or "",
        }
        for item in compared.metrics
    ]
    st.html(_STYLE + _table(rows))


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    """Text that wraps: on a phone, a grid would cut the names or push the change off the screen."""
    body = "".join(
        f'<tr><th scope="row">{as_html(row["metric"])}'
        + (f"<small>{as_html(row['remark'])}</small>" if row["remark"] else "")
        + "</th>"
        + "".join(f"<td>{as_html(row[name])}</td>" for name in ("A", "B", "change"))
        + "</tr>"
        for row in rows
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("A", "B", "B against A"))
    return (
        '<table class="lab-figures"><thead><tr><th scope="col">Mean of the replicas</th>'
        f"{heads}</tr></thead><tbody>{body}</tbody></table>"
    )


def metric_title(metric: str) -> str:
    """`compute_ms` as `Compute, ms`, in the words of the definitions."""
    found = DEFINITIONS.get(_DEFINED_AS.get(metric, metric.removesuffix("_ms")))
    if found is None:
        return metric
    return f"{found.label}, {found.unit}" if found.unit else found.label


def change_text(item: MetricChange) -> str:
    """`+4.2 %`, or how many times as much where it is beyond ten."""
    if item.change is None or item.a is None or item.b is None:
        return units.MISSING
    if abs(item.change) >= 10:
        return f"{item.b / item.a:,.0f} times"
    return f"{100 * item.change:+.1f} %"


def show_curves(a: Side, b: Side) -> None:
    """The spread of the step times, and the losses."""
    times = {side.name: _times(side) for side in (a, b)}
    left, right = st.columns(2)
    with left:
        st.subheader("Step times", help=DEFINITIONS["step_time"].text)
        timed = [item.timed_ms if item else _NONE for item in times.values()]
        st.plotly_chart(spreads(*timed), key="compare_spreads", alt="Histograms of step times")
    with right:
        st.subheader("Loss", help=DEFINITIONS["loss"].text)
        # Segments of one run follow each other; two runs are laid over each other.
        same_run = a.opened.profile.path == b.opened.profile.path
        curves = {
            name: (item.step.astype(np.float64) - (0 if same_run else item.step[0]), item.loss)
            for name, item in times.items()
            if item is not None and item.count
        }
        st.plotly_chart(losses(curves), key="compare_losses", alt="Loss by step of A and B")


def _times(side: Side) -> StepTimes | None:
    return side.opened.ask(step_times, side.segment.segment) if side.segment else None


def _breakdown(side: Side) -> StepBreakdown | None:
    return side.opened.ask(breakdown_of, side.segment.segment) if side.segment else None


def breakdown_of(profile: Profile, number: int) -> StepBreakdown:
    segment = next(item for item in profile.segments if item.segment == number)
    return step_breakdown(profile, segment)
