"""What a sweep has found: the answer, the Pareto chart, the table, links and files."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from strategy_app.screen.answer import show_beginning, show_parts
from strategy_app.screen.table import show_table
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.copy_as import offer_copy
from strategy_app.widgets.links import page_link
from strategy_app.widgets.text import as_markdown
from strategy_profiles.answers.answer import Table
from strategy_sweep.answer import sweep_answer
from strategy_sweep.chart import pareto
from strategy_sweep.formats import as_csv, as_json
from strategy_sweep.markdown import as_markdown as as_report
from strategy_sweep.results import COST_NAMES, Cost, Result, Results, cost_of


def show_results(results: Results) -> None:
    """Draw the answer and its chart; what is not measured yet is missing."""
    answer = sweep_answer(results)
    configurations, not_finished = answer.parts
    show_beginning(answer)
    if any(item.runs for item in results.table):
        _show_chart(results)
    assert isinstance(configurations, Table)
    row = show_table(configurations, chooses=True)
    chosen = results.winner if row is None else results.table[row]
    if chosen is not None and chosen.runs:
        _show_links(results, chosen)
    for note in configurations.notes:
        st.caption(as_markdown(note, 1_000))
    if isinstance(not_finished, Table) and not_finished.rows:
        show_parts((not_finished,))


def show_files(results: Results) -> None:
    """Three downloads."""
    name = results.sweep.name
    with st.container(horizontal=True):
        for label, data, suffix in (
            ("JSON", json.dumps(as_json(results), indent=1), "json"),
            ("CSV", as_csv(results), "csv"),
            ("Markdown", as_report(sweep_answer(results), f"Sweep {name}"), "md"),
        ):
            st.download_button(
                label, data, f"{name}.{suffix}", key=f"sweep_{suffix}", on_click="ignore"
            )


def _show_chart(results: Results) -> None:
    cost = st.segmented_control(
        "Throughput against",
        list(COST_NAMES),
        default=_usual_cost(results),
        required=True,
        format_func=COST_NAMES.__getitem__,
        key="sweep_cost",
    )
    draw_chart(
        pareto(results, cost),
        key="sweep_pareto",
        alt=f"Throughput of each configuration against {COST_NAMES[cost].lower()}",
    )


def _usual_cost(results: Results) -> Cost:
    """The number of replicas if it alone varies: with one batch, the step time is the throughput
    once more."""
    batches = {results.spec(item.index).global_batch_size for item in results.table}
    replicas = {cost_of(item, "num_replicas") for item in results.table} - {None}
    return "num_replicas" if len(batches) == 1 and len(replicas) > 1 else "step_ms"


def _show_links(results: Results, item: Result) -> None:
    num = len(item.runs)
    which = "its run" if num == 1 else f"the last of its {num} runs"
    st.markdown(f"**{as_markdown(item.label)}**: {which}. Choose a row for another configuration.")
    with st.container(horizontal=True, vertical_alignment="center"):
        for page, label in (("overview", "Why"), ("timeline", "Timeline")):
            page_link(page, label, run=item.runs[-1])
        if item.index != results.sweep.reference and results.reference.runs:
            page_link("compare", "Compare with the default", query=_comparison_query(results, item))
        offer_copy(results.spec(item.index))


def _comparison_query(results: Results, item: Result) -> dict[str, Any]:
    query: dict[str, Any] = {}
    for side, runs in (("a", results.reference.runs), ("b", item.runs)):
        query |= {side: runs[0], f"more_{side}": list(runs[1:])}
    return query
