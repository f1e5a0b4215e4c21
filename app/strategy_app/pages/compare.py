"""Compare: is B really faster than A, or is it noise? And where does the difference come from?"""

from __future__ import annotations

import streamlit as st

from strategy_app.screen.answer import show_beginning, show_parts
from strategy_app.screen.several import show_several
from strategy_app.screen.spec_difference import show_spec_difference
from strategy_app.server import state
from strategy_app.widgets.comparison import show_curves, show_ratio
from strategy_app.widgets.comparison_picker import Side, pick_sides, why_no_other
from strategy_app.widgets.empty import empty
from strategy_app.widgets.links import page_link
from strategy_app.widgets.places import show_head
from strategy_app.widgets.runs_folder import RunEntry, list_runs
from strategy_app.widgets.side_comparison import compare
from strategy_app.widgets.text import as_markdown
from strategy_app.widgets.title import set_title
from strategy_profiles.analysis.compare.run_comparison import RunComparison
from strategy_profiles.errors import AnalysisError
from strategy_profiles.questions.comparison import comparison, fields_of
from strategy_profiles.questions.placement import moved


def page() -> None:
    show_head("compare")
    runs = list_runs(state.lab().runs)
    if not runs:
        empty(
            "No run yet.",
            "This page shows whether one run is faster than another, or whether it is noise. "
            "Record two runs, or one that is reconfigured while it runs.",
            page="lab",
            link="New run",
        )
        page_link("runs", "Record a program, import a profile, or open an example →")
        return
    sides = pick_sides(runs)
    if sides:
        _show(*sides, runs)


def _show(a: Side, b: Side, runs: list[RunEntry]) -> None:
    set_title("Compare", a.opened.profile.name, b.opened.profile.name)
    is_single = not (a.more or b.more)
    is_same_run = a.opened.profile.path == b.opened.profile.path
    if is_single and is_same_run and a.segment == b.segment:
        if len(runs) == len(a.opened.profile.segments) == 1:
            empty(
                "There is no other run.",
                "Record another one, then compare the two.",
                page="lab",
                link="New run",
            )
            return
        why = why_no_other(runs, a)
        segment = ", or another segment of this one" if len(a.opened.profile.segments) > 1 else ""
        empty(
            "There is no other run to compare with." if why else "A and B are the same.",
            f"{why} Choose another run for B{segment}.".strip(),
        )
        return
    compared = _compare(a, b, runs)
    if compared:
        answer = comparison(compared)
        show_beginning(answer)
        if compared.is_one_program and not is_same_run:
            show_parts((fields_of(compared),))
        show_ratio(compared)
        for part in answer.parts:
            show_parts((part,))
    show_several(runs, a, b)
    show_curves(a, b, compared)
    if is_single and is_same_run and a.segment and b.segment:
        show_parts(a.opened.ask(moved, a.segment, b.segment))
    if compared is None or not compared.is_one_program:
        show_spec_difference(a, b)


def _compare(a: Side, b: Side, runs: list[RunEntry]) -> RunComparison | None:
    try:
        return compare(a, b, runs)
    except AnalysisError as error:
        st.warning(f"**These runs cannot be compared.** {as_markdown(error)}")
        return None


page()
