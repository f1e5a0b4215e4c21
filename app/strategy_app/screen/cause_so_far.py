"""What limits a run, as far as its record says by now: on the page that follows the run."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from strategy_app.screen.answer import answer_of
from strategy_app.screen.code import show_shares
from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.segments import facts_of
from strategy_app.widgets.text import as_markdown
from strategy_app.widgets.verdict import part_as_html
from strategy_profiles.analysis.facts import Finding
from strategy_profiles.analysis.failures.of_run import explained_without_steps
from strategy_profiles.analysis.findings import findings
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.answers.answer import Shares
from strategy_profiles.errors import LabError
from strategy_profiles.questions.loop import loop
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile

EVERY_S = 8.0
"""A run that goes on is read again: the account of all of its steps takes up to 0.1 s."""
UNKNOWN = "Nothing is known of the cause yet: the first steps are being recorded."


def show_cause_so_far(path: Path, *, is_over: bool) -> None:
    """Draw the first cause with its remedy, and what fills the loop; again while the run goes on.

    Its place has a fixed height (`server.first_style`), so that what is below does not move.
    """
    st.fragment(_show, run_every=None if is_over else EVERY_S)(path, is_over=is_over)


def _show(path: Path, *, is_over: bool) -> None:
    try:
        opened = open_run(path)
    except LabError:
        return  # the page says so
    segment = headline_segment(opened.profile) if is_over else newest_segment(opened.profile)
    shares, finding = _known(opened, segment.segment) if segment else (None, None)
    if why := explained_without_steps(opened.profile):
        st.markdown(f"**{as_markdown(why.sentence)}** {as_markdown(why.advice)}")
        return
    if shares is None and finding is None:
        st.caption("" if is_over else UNKNOWN)
        return
    left, right = st.columns(2)
    if shares is not None:
        with left:
            st.markdown("**Where the loop's time goes**", help=shares.definition)
            show_shares(shares)
    if finding is not None:
        with right if shares else left:
            cost = f", {finding.cost.share_text}" if finding.cost else ""
            st.markdown(f"**{'What to do' if is_over else 'So far'}**{cost}")
            said = "" if is_over else f"{finding.sentence} "  # the headline says it of a whole run
            st.html(
                f'<div style="font-size:.9rem">{part_as_html(f"{said}Try: {finding.advice}")}</div>'
            )


def newest_segment(profile: Profile) -> SegmentOpened | None:
    return profile.segments[-1] if profile.segments else None


def _known(opened: OpenRun, segment: int) -> tuple[Shares | None, Finding | None]:
    """What fills the loop of a segment, and its first cause."""
    parts = answer_of(opened, loop, segment).parts
    ordered = findings(opened.ask(facts_of, segment))
    shares = next((part for part in parts if isinstance(part, Shares)), None)
    return shares, ordered[0] if ordered else None
