"""More runs beside A, from `?each=NAME&each=..`: all step times in one chart, each against A."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import streamlit as st

from strategy_app.charts.runs import together
from strategy_app.screen.answer import show_beginning, show_parts
from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.comparison_picker import Side
from strategy_app.widgets.evidence import curve
from strategy_app.widgets.more_runs import pick_runs
from strategy_app.widgets.runs_folder import RunEntry
from strategy_app.widgets.step_chart import runs_chart
from strategy_app.widgets.text import plain
from strategy_profiles.analysis.compare.each import MOST_RUNS, AgainstFirst, compare_each
from strategy_profiles.questions.comparison import against_first
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
    compared = a.opened.ask(
        _compare_with, tuple((str(run.profile.path), run.stamp) for run in others)
    )
    every: dict[str, OpenRun] = {run.profile.path.name: run for run in (a.opened, *others)}
    titles = [
        f"{plain(name, 40)} ({side})" if side else plain(name, 40)
        for name, side in zip_longest(every, sides, fillvalue="")
    ]
    answer = against_first(compared, titles)
    st.header("More runs")
    show_beginning(answer)
    curves = {name: run.ask(curve, "wall_ms") for name, run in every.items()}
    chart = together(curves, title="step time", unit="ms", sides=sides)
    runs_chart(every, chart, key="compare_each", alt="Step time of each run over its steps")
    show_parts(answer.parts)


def _compare_with(
    profile: Profile, others: tuple[tuple[str, str], ...]
) -> tuple[AgainstFirst, ...]:
    """`compare_each` with the other runs by path and state of their files."""
    return compare_each([profile, *(open_run(Path(path)).profile for path, _ in others)])
