"""What a sweep has found: the answer, the Pareto chart, the table, links and files."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from strategy_app.charts.sweep import pareto
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.copy_as import offer_copy
from strategy_app.widgets.links import page_link
from strategy_app.widgets.table import number, show_selectable_table, text
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.reporting import units
from strategy_profiles.sweep.formats import as_csv, as_json
from strategy_profiles.sweep.formats import as_markdown as as_report
from strategy_profiles.sweep.record import LeftOut
from strategy_profiles.sweep.results import (
    COST_NAMES,
    Cost,
    Estimate,
    Result,
    Results,
    cost_of,
)
from strategy_profiles.sweep.text import (
    by_reason,
    ratio_text,
    verified_text,
    what_was_done,
    why_text,
)

_NAMES_PX = (140, 380)
"""Least and largest width of the column of names."""
_LETTER_PX, _PADDING_PX = 7, 16


def show_results(found: Results) -> None:
    """Draw everything below the sentence; what is not measured yet is missing."""
    if any(item.runs for item in found.table):
        _show_chart(found)
    chosen = _show_table(found)
    if chosen is not None and chosen.runs:
        _show_links(found, chosen)
    elif chosen is not None:
        st.markdown(f"**{as_markdown(chosen.label)}**: {as_markdown(why_text(chosen), 1_000)}.")
    st.caption(as_markdown(what_was_done(found)))
    if checked := verified_text(found):
        st.caption(as_markdown(checked, 1_000))
    _show_left_out(found)


def show_files(found: Results) -> None:
    """Three downloads."""
    name = found.sweep.name
    with st.container(horizontal=True):
        for label, data, suffix in (
            ("JSON", json.dumps(as_json(found), indent=1), "json"),
            ("CSV", as_csv(found), "csv"),
            ("Markdown", as_report(found), "md"),
        ):
            st.download_button(
                label, data, f"{name}.{suffix}", key=f"sweep_{suffix}", on_click="ignore"
            )


def _show_chart(found: Results) -> None:
    cost = st.segmented_control(
        "Throughput against",
        list(COST_NAMES),
        default=_usual_cost(found),
        required=True,
        format_func=COST_NAMES.__getitem__,
        key="sweep_cost",
    )
    draw_chart(
        pareto(found, cost),
        key="sweep_pareto",
        alt=f"Throughput of each configuration against {COST_NAMES[cost].lower()}",
    )


def _usual_cost(found: Results) -> Cost:
    """The number of replicas if it alone varies: with one batch, the step time is the throughput
    once more."""
    batches = {found.spec(item.index).global_batch_size for item in found.table}
    replicas = {cost_of(item, "num_replicas") for item in found.table} - {None}
    return "num_replicas" if len(batches) == 1 and len(replicas) > 1 else "step_ms"


def _show_table(found: Results) -> Result | None:
    """The table; returns the chosen configuration, by default the fastest."""
    reference = found.sweep.reference
    chosen: Result | None = show_selectable_table(
        "sweep_table",
        found.table,
        {
            "configuration": text(
                "Configuration", lambda item: plain(item.label, 80), width=_names_px(found)
            ),
            "rate": number(
                "Examples/s",
                lambda item: _middle(item.examples_per_second_at_median, digits=0),
                format="localized",
            ),
            "rate_interval": text(
                "95 % interval",
                lambda item: _interval(item.examples_per_second_at_median, ",.0f"),
                width=115,
            ),
            "step": number("Step, ms", lambda item: _middle(item.step_ms, digits=3), format="%.2f"),
            "step_interval": text(
                "Interval, ms", lambda item: _interval(item.step_ms, ".2f"), width=130
            ),
            "ratio": text("Times the default", lambda item: _ratio(item, reference), width=180),
            "runs": number(
                "Measured",
                lambda item: len(item.runs),
                width=75,
                help="Runs that were measured. Runs that failed are not among them.",
            ),
            "why": text("Result", lambda item: plain(why_text(item), 300), width="large"),
        },
    )
    return chosen or found.winner


def _names_px(found: Results) -> int:
    """Width of the column of names: their ends differ, so they are not cut before."""
    longest = max((len(item.label) for item in found.table), default=0)
    return min(max(_NAMES_PX[0], _PADDING_PX + _LETTER_PX * longest), _NAMES_PX[1])


def _show_links(found: Results, item: Result) -> None:
    num = len(item.runs)
    which = "its run" if num == 1 else f"the last of its {num} runs"
    st.markdown(f"**{as_markdown(item.label)}**: {which}. Choose a row for another configuration.")
    with st.container(horizontal=True, vertical_alignment="center"):
        for page, label in (("overview", "Why"), ("timeline", "Timeline")):
            page_link(page, label, run=item.runs[-1])
        if item.index != found.sweep.reference and found.reference.runs:
            page_link("compare", "Compare with the default", query=_both(found, item))
        offer_copy(found.spec(item.index))


def _both(found: Results, item: Result) -> dict[str, Any]:
    query: dict[str, Any] = {}
    for side, runs in (("a", found.reference.runs), ("b", item.runs)):
        query |= {side: runs[0], f"more_{side}": list(runs[1:])}
    return query


def _show_left_out(found: Results) -> None:
    left_out = [
        *found.sweep.left_out,
        *(LeftOut(item.label, item.why) for item in found.table if item.state == "pruned"),
    ]
    if not left_out:
        return
    with st.expander(f"{units.counted(len(left_out), 'combination')} left out"):
        for reason, labels in by_reason(left_out).items():
            why = as_markdown(reason.removeprefix("left out: "), 1_000)
            st.markdown(f"- **{as_markdown(units.listed(labels), 2_000)}**: {why}")


def _ratio(item: Result, reference: int) -> str | None:
    if item.index == reference:
        return "the default"
    return None if item.of_reference is None else ratio_text(item.of_reference)


def _middle(estimate: Estimate | None, digits: int) -> float | None:
    return None if estimate is None else round(estimate.middle, digits)


def _interval(estimate: Estimate | None, form: str) -> str | None:
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return f"{estimate.low:{form}} to {estimate.high:{form}}"
