"""A run of somebody's own program, which was recorded before: what a change has gained."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import streamlit as st

from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.links import page_link
from strategy_app.widgets.text import as_markdown
from strategy_profiles.analysis.compare.partner import why_no_partner
from strategy_profiles.analysis.compare.run_comparison import compare_runs
from strategy_profiles.analysis.compare.text import against_earlier
from strategy_profiles.errors import LabError
from strategy_profiles.run.same_program import earlier_runs
from strategy_profiles.tables.store import Profile

_MOST_READ = 5
"""Limit on the earlier runs that are read."""


def show_measured_gain(opened: OpenRun) -> None:
    """Draw by how much the run is faster than the last one of its program, and a link to both."""
    # Which runs were recorded before changes with the folder alone: to find them reads a file of
    # each run.
    folder = opened.profile.path.resolve().parent
    before = _comparable(opened.ask(_earlier, folder.stat().st_mtime_ns))
    text = "" if before is None else measured_gain(opened, before)
    if before is None or not text:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="measured_gain"):
        st.markdown(as_markdown(text, 300), width="content")
        sides = {"a": before.name, "b": opened.profile.path.name}
        page_link("compare", "Compare, with the changed lines", query=sides)


def show_how_to_record_again(opened: OpenRun) -> None:
    """Draw the command that records the program again, to copy."""
    program = opened.profile.identity.program if opened.profile.identity else None
    if program is None or not program.command:
        return
    same = ", with the same arguments" if program.arguments else ""
    has_gain = opened.profile.segments and opened.profile.status.state != "failed"
    gain = ": this page says what the change has gained" if has_gain else ""
    st.caption(f"Then record it again{same}{gain}.")
    st.code(program.command, language=None, wrap_lines=True)


def _earlier(profile: Profile, _folder_changed_ns: int) -> list[Path]:
    return earlier_runs(profile.path)


def _comparable(earlier: Sequence[Path]) -> Path | None:
    for before in earlier[:_MOST_READ]:
        with suppress(LabError):
            if open_run(before).ask(why_no_partner) is None:
                return before
    return None


def measured_gain(opened: OpenRun, before: Path) -> str:
    """A sentence; empty if the two cannot be compared."""
    try:
        return opened.ask(_gain_over, str(before), open_run(before).stamp)
    except LabError:
        return ""


def _gain_over(profile: Profile, before: str, _stamp: str) -> str:
    return against_earlier(compare_runs(open_run(Path(before)).profile, profile))
