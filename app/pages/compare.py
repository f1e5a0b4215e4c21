"""Compare: is B really faster than A, or is it noise? And where does the difference come from?"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from strategy_lab.app import state
from strategy_lab.app.parts.compared import show_curves, show_metrics, show_phases, show_verdict
from strategy_lab.app.parts.empty import empty
from strategy_lab.app.parts.opened import open_run
from strategy_lab.app.parts.runs_folder import list_runs
from strategy_lab.app.parts.sides import Side, pick_sides
from strategy_lab.app.parts.spec_difference import show_spec_difference
from strategy_lab.app.parts.text import as_markdown
from strategy_lab.profiles.analysis.run_comparison import RunComparison, compare_runs
from strategy_lab.profiles.errors import AnalysisError
from strategy_lab.profiles.store import Profile


def page() -> None:
    st.title("Compare")
    runs = list_runs(state.lab().runs)
    if not runs:
        empty(
            "No run yet.",
            "Record two runs in the Lab, or one that is reconfigured while it runs.",
            page="lab",
            link="Open the Lab",
        )
        return
    sides = pick_sides(runs)
    if sides:
        _show(*sides)


def _show(a: Side, b: Side) -> None:
    if a.opened.profile.path == b.opened.profile.path and a.segment == b.segment:
        empty(
            "A and B are the same.",
            "Choose another run for B, or another segment of this one."
            if len(a.opened.profile.segments) > 1
            else "Choose another run for B.",
        )
        return
    compared = _compare(a, b)
    if compared:
        show_verdict(compared)
        show_phases(a, b)
        show_metrics(compared)
    show_curves(a, b)
    show_spec_difference(a, b)


def _compare(a: Side, b: Side) -> RunComparison | None:
    try:
        return a.opened.ask(
            compare_with,
            str(b.opened.profile.path),
            b.opened.stamp,
            a.segment.segment if a.segment else None,
            b.segment.segment if b.segment else None,
        )
    except AnalysisError as error:
        st.warning(f"**These two cannot be compared.** {as_markdown(error)}")
        return None


def compare_with(
    profile: Profile,
    other: str,
    _stamp: str,
    segment: int | None,
    other_segment: int | None,
) -> RunComparison:
    """`compare_runs` with the other run by its path; `_stamp` says in which state of its files."""
    return compare_runs(
        profile,
        open_run(Path(other)).profile,
        a_segment=segment,
        b_segment=other_segment,
    )


page()
