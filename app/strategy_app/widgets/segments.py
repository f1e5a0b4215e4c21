"""Segments of a run: chosen on a page (`?segment=N`), and named the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from strategy_app.widgets.empty import empty
from strategy_app.widgets.text import plain
from strategy_profiles.analysis.findings import Facts, gather_facts
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.analysis.no_capture import why_no_step
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
    if not profile.segments:
        say_none(profile)
        return None
    newest = profile.segments[-1]
    usual = (len(profile.segments) > 1 and headline_segment(profile)) or newest
    return choose_segment(profile, usual, "Segment", KEY)


def choose_segment(profile: Profile, usual: SegmentOpened, label: str, key: str) -> SegmentOpened:
    """Return a segment of a run: the only one, or the one chosen with a control.

    Args:
        usual: the one that is chosen at first.
        key: the query parameter that has the number of the chosen one.
    """
    segments = {item.segment: item for item in profile.segments}
    if len(segments) == 1:
        return usual
    titles = segment_titles(profile.segments)
    in_address = whole_or_none(st.query_params.get(key, ""))
    wanted = in_address if in_address in segments else usual.segment
    chosen = st.segmented_control(
        label,
        list(segments),
        default=wanted,
        format_func=lambda number: f"{number}: {titles[number]}",
        key=f"{key}_of_{profile.path.name}",
        help=TERMS["segment"],
        wrap=True,
    )
    number = wanted if chosen is None else chosen
    st.query_params[key] = str(number)
    return segments[number]


def say_none(profile: Profile) -> None:
    """Say on a page that a run has no segment, why, and what to do."""
    if profile.status.is_over:
        is_of_lab = profile.identity is None or profile.identity.program is None
        empty(*why_no_step(profile), page="lab" if is_of_lab else "", link="New run")
    else:
        empty("The run is starting.", "The page appears after the first step.")


def facts_of(profile: Profile, number: int) -> Facts:
    """Everything that is known of a segment, by its number."""
    segment = next(item for item in profile.segments if item.segment == number)
    return gather_facts(profile, segment)
