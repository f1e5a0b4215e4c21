"""What limits a run, as far as its record says by now: on the page that follows the run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from strategy_app.screen.answer import answer_of
from strategy_app.screen.code import show_code, show_shares
from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.segments import facts_of
from strategy_app.widgets.text import as_markdown
from strategy_app.widgets.verdict import STYLE, part_as_html, show_parts_of_headline
from strategy_profiles.analysis.facts import Finding
from strategy_profiles.analysis.failures import Explained, explained_without_steps
from strategy_profiles.analysis.findings import findings
from strategy_profiles.analysis.headline import headline
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.answers.answer import Bold, Code, Shares
from strategy_profiles.errors import LabError
from strategy_profiles.questions.loop import TITLE, loop
from strategy_profiles.reporting import units
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.layout import worker_folders
from strategy_profiles.tables.store import Profile

LOOK_S, EVERY_S = 2.0, 8.0
"""A run that goes on is read again, soon if nothing is known of it: the account of all of its steps
takes up to 0.1 s."""
MOST_OF_TIME = 0.05
"""Share of the time for which such a run is read: a long one is read more rarely."""
MOST_BYTES = 100_000_000
"""Of event files: a longer run that goes on is not read again. 250,000 steps of four replicas,
whose reading takes over a second and 300 MB."""
TOO_LARGE = "A run this long is read when it is over, or now by **Cause**."
UNKNOWN = "What limits it is not known yet: that takes a few steps."


def show_cause_so_far(path: Path, *, is_over: bool, num_segments: int = 0) -> None:
    """Draw the first cause with its remedy, and what fills the loop; again while the run goes on.

    With another number of segments it is about another configuration, and is read at once.
    While the run goes on, its place has a least height (`server.first_style`): nothing below moves.
    """
    st.fragment(_show, run_every=None if is_over else LOOK_S)(path, num_segments, is_over=is_over)


def _show(path: Path, num_segments: int, *, is_over: bool) -> None:
    key = f"cause_so_far {path}"
    num_then, last = st.session_state.get(key, (None, None))
    cause: _CauseSoFar | None = last if num_then == num_segments else None
    is_large = not is_over and _num_bytes(path) > MOST_BYTES
    if is_over or not (is_large or (cause and time.monotonic() < cause.due_s)):
        try:
            cause = _read(path, is_over=is_over)
        except LabError:
            return  # the page says so
        st.session_state[key] = num_segments, cause
    if cause is None:
        st.caption(TOO_LARGE)
        return
    _draw(cause, is_over=is_over)
    if is_large:
        st.caption(f"Of its first {cause.num_steps:,} steps. {TOO_LARGE}")


def _num_bytes(path: Path) -> int:
    try:
        return sum(folder.events.stat().st_size for folder in worker_folders(path))
    except OSError:  # no events yet
        return 0


class _CauseSoFar(NamedTuple):
    """What a run's record has said when it was read last."""

    due_s: float
    """When it is to be read again (monotonic clock), if it goes on."""
    num_steps: int
    failure: Explained | None = None
    """Why it ended before its first step."""
    headline: tuple[str, ...] = ()
    """As the page Cause has it."""
    finding: Finding | None = None
    shares: Shares | None = None
    line: Code | None = None
    """The line of the program that the headline names, or that takes most of the loop."""


def _read(path: Path, *, is_over: bool) -> _CauseSoFar:
    begin_s = time.monotonic()
    opened = open_run(path)
    segment = headline_segment(opened.profile) if is_over else newest_segment(opened.profile)
    known = _headline_and_cause(opened, segment.segment) if segment else ()
    failure = explained_without_steps(opened.profile)
    num_steps = opened.profile.table("steps").num_rows
    now_s = time.monotonic()
    wait_s = max(EVERY_S, (now_s - begin_s) / MOST_OF_TIME) if any(known[1:]) else 0.0
    return _CauseSoFar(now_s + wait_s, num_steps, failure, *known)


def _draw(known: _CauseSoFar, *, is_over: bool) -> None:
    shares, finding = known.shares, known.finding
    if known.failure:
        show_parts_of_headline((Bold(known.failure.sentence),))
        st.markdown(as_markdown(known.failure.advice))
        return
    has_limit = any(isinstance(part, Bold) for part in known.headline)
    number = known.num_steps
    after = f"After {units.counted(number, 'step')}" if number else "Before the first step"
    so_far = () if is_over else (f"{after}{', ' if known.headline else '.'}",)
    show_parts_of_headline(
        (*so_far, *known.headline, *(() if is_over or has_limit else (Bold(UNKNOWN),)))
    )
    left, right = st.columns(2, gap="small")
    if number and not is_over:  # their places, before they are filled
        for column, part, title, when in (
            (left, finding, "What to do", "Known with the cause."),
            (right, shares, TITLE, "Known after the first steps."),
        ):
            if part is None:
                column.markdown(f"**{title}**  \n:gray[:small[{when}]]")
    if finding is not None:
        with left.container(gap=None):
            cost = f", {finding.cost.share_text}" if finding.cost else ""
            st.markdown(f"**What to do**{cost}")
            text = part_as_html(f"Try: {finding.advice}")
            st.html(f'{STYLE}<div class="lab-said">{text}</div>')
    if shares is not None:
        with (left if is_over and not finding else right).container(gap=None):
            st.markdown(f"**{shares.title}**", help=shares.definition)
            show_shares(shares)
            if known.line is not None:
                show_code(known.line)


def newest_segment(profile: Profile) -> SegmentOpened | None:
    return profile.segments[-1] if profile.segments else None


def _headline_and_cause(
    opened: OpenRun, segment: int
) -> tuple[tuple[str, ...], Finding | None, Shares | None, Code | None]:
    """A segment's headline, its first cause, what fills its loop, and its line with its time."""
    parts, facts = answer_of(opened, loop, segment).parts, opened.ask(facts_of, segment)
    said = headline(opened.profile, facts)
    ordered = findings(facts)
    shares = next((part for part in parts if isinstance(part, Shares)), None)
    code = next((part for part in parts if isinstance(part, Code)), None)
    line = code and code.line_of("".join(said))
    has_time = line is not None and line.most > 0.0
    return said, ordered[0] if ordered else None, shares, line if has_time else None
