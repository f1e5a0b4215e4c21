"""More runs beside A, from `?each=NAME&each=..`: all step times in one chart, each against A."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import streamlit as st

from strategy_app.charts.runs import together
from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.comparison import STYLE, metric_title
from strategy_app.widgets.comparison_picker import Side
from strategy_app.widgets.evidence import curve
from strategy_app.widgets.more_runs import pick_runs
from strategy_app.widgets.runs_folder import RunEntry
from strategy_app.widgets.step_chart import runs_chart
from strategy_app.widgets.text import as_html, as_markdown, plain
from strategy_profiles.analysis.compare.each import (
    MOST_RUNS,
    AgainstFirst,
    EachRow,
    compare_each,
    each_row,
)
from strategy_profiles.analysis.compare.text import answer, change_text
from strategy_profiles.reporting import units
from strategy_profiles.tables.store import Profile


def show_several(runs: list[RunEntry], a: Side, b: Side) -> None:
    """Let the user choose more runs, and show A, B and these together."""
    chosen = pick_runs(
        [
            entry
            for entry in runs
            if entry.path not in (a.opened.profile.path, b.opened.profile.path)
        ],
        key="each",
        label="More runs against A",
        placeholder=f"Compare up to {MOST_RUNS} runs",
        most=MOST_RUNS - 2,
    )
    if not chosen:
        return
    sides = "AB" if b.opened is not a.opened else "A"
    others = (b.opened, *chosen) if b.opened is not a.opened else chosen
    found = a.opened.ask(_compare_with, tuple((str(run.profile.path), run.stamp) for run in others))
    st.header("Each run against A")
    for item in found:
        st.markdown(as_markdown(_sentence(item), 400))
        for warning in item.compared.warnings if item.compared else ():
            st.caption(as_markdown(f"{item.name}: {warning}", 400))
    st.caption("One run each: these numbers do not include the variation between runs.")
    every: dict[str, OpenRun] = {run.profile.path.name: run for run in (a.opened, *others)}
    curves = {name: run.ask(curve, "wall_ms") for name, run in every.items()}
    chart = together(curves, title="step time", unit="ms", sides=sides)
    runs_chart(every, chart, key="compare_each", alt="Step time of each run over its steps")
    st.html(STYLE + _table(list(every), sides, each_row(found)))


def _compare_with(
    profile: Profile, others: tuple[tuple[str, str], ...]
) -> tuple[AgainstFirst, ...]:
    """`compare_each` with the other runs by path and state of their files."""
    return compare_each([profile, *(open_run(Path(path)).profile for path, _ in others)])


def _sentence(item: AgainstFirst) -> str:
    if item.compared is None:
        return f"{item.name} cannot be compared with A: {item.reason}"
    verdict, rest = answer(item.compared)
    return f"{item.name} as B: {verdict[0].lower()}{verdict[1:]}{rest}"


def _table(names: list[str], sides: str, rows: tuple[EachRow, ...]) -> str:
    heads = "".join(
        f'<th scope="col">{as_html(plain(name, 40))}{f" ({side})" if side else ""}</th>'
        for name, side in zip_longest(names, sides, fillvalue="")
    )
    body = "".join(
        f'<tr><th scope="row">{as_html(metric_title(row.metric))}</th>'
        f"<td>{units.number(row.first)}</td>"
        + "".join(
            f"<td>{units.number(each.b)}<small>{change_text(each)}</small></td>"
            if each
            else f"<td>{units.MISSING}</td>"
            for each in row.others
        )
        + "</tr>"
        for row in rows
    )
    return (
        '<div tabindex="0" role="region" aria-label="Each run against A" style="overflow-x:auto">'
        f'<table class="lab-figures each"><thead><tr><td></td>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
