"""Segments of a run: chosen on a page (`?segment=N`), and named the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from strategy_app.widgets.empty import empty
from strategy_app.widgets.text import plain
from strategy_profiles.analysis.failures import explained_without_steps
from strategy_profiles.analysis.findings import Facts, gather_facts
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.reporting import spec_changes
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile
from strategy_profiles.user_input.text import whole_or_none

KEY = "segment"


def segment_titles(segments: Sequence[SegmentOpened]) -> dict[int, str]:
    """Return the title of each segment on a page, by its number."""
    titles = spec_changes.segment_titles(segments)
    return {number: plain(title, 60) for number, title in titles.items()}


def pick_segment(profile: Profile) -> SegmentOpened | None:
    """Return the segment to show, chosen with a control if the run has several.

    Returns None if the run has no segment yet, after a message on the page.
    """
    segments = profile.segments
    if not segments:
        _say_none(profile)
        return None
    if len(segments) == 1:
        return segments[0]
    titles = segment_titles(segments)
    by_number = {item.segment: item for item in segments}
    numbers = list(by_number)
    in_address = whole_or_none(st.query_params.get(KEY, ""))
    usual = headline_segment(profile)
    default = usual.segment if usual else numbers[-1]
    wanted = in_address if in_address in by_number else default
    chosen = st.segmented_control(
        "Segment",
        numbers,
        default=wanted,
        format_func=lambda number: f"{number}: {titles[number]}",
        key=f"segment_of_{profile.path.name}",
        help=TERMS["segment"],
        wrap=True,
    )
    number = wanted if chosen is None else chosen
    st.query_params[KEY] = str(number)
    return by_number[number]


def _say_none(profile: Profile) -> None:
    if profile.status.is_over:
        explained = explained_without_steps(profile)
        is_of_lab = profile.identity is None or profile.identity.program is None
        empty(
            explained.sentence if explained else "This run recorded no step.",
            (explained.advice if explained else "")
            or "It ended before its strategy was created. Change what its message names, then run "
            "again.",
            page="lab" if is_of_lab else "",
            link="New run",
        )
    else:
        empty("The run is starting.", "The page appears after the first step.")


def facts_of(profile: Profile, number: int) -> Facts:
    """Everything that is known of a segment, by its number."""
    segment = next(item for item in profile.segments if item.segment == number)
    return gather_facts(profile, segment)
