"""The two sides of a comparison: one run or more each, and a segment, from `?a=..&b=..`.

By default, they are the run that was looked at last and the newest other one that can be compared
with it, else the two newest that can be compared: B is the newer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

import streamlit as st

from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.more_runs import offer_repetitions, pick_more
from strategy_app.widgets.picker import LAST_RUN, pick_run, say_unknown
from strategy_app.widgets.runs_folder import RunEntry
from strategy_app.widgets.segments import choose_segment
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.analysis.compare.partner import why_no_partner
from strategy_profiles.analysis.compare.run_comparison import chosen_segment
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.errors import AnalysisError, LabError
from strategy_profiles.run.events import SegmentOpened

_MOST_READ = 20
"""Limit on the runs that are read to find a default."""
_MOST_TOLD = 3


@dataclass(frozen=True, slots=True)
class Side:
    """One side, `A` or `B`. `segment` is None where the run has none."""

    name: str
    opened: OpenRun
    segment: SegmentOpened | None
    more: tuple[OpenRun, ...] = ()
    """Further runs of this side."""

    @property
    def runs(self) -> tuple[OpenRun, ...]:
        """All runs of this side, the first one included."""
        return (self.opened, *self.more)

    @property
    def title(self) -> str:
        """The run and, if it has several segments, the segment."""
        name = plain(self.opened.profile.path.name, 60)
        if self.segment is None or len(self.opened.profile.segments) < 2:
            return name
        return f"{name}, segment {self.segment.segment}"


def pick_sides(runs: list[RunEntry]) -> tuple[Side, Side] | None:
    """Two pickers."""
    first, other = _usual_sides(runs)
    left, middle, right = st.container(key="sides").columns([8, 1.4, 8])
    with left:
        one = _pick_run(runs, "A", first)
    with middle:
        st.space("small")  # beside the pickers, below their labels
        st.button("⇄", key="swap", help="Exchange A and B", width="stretch", on_click=_swap)
    with right:
        two = _pick_run(runs, "B", other)
    if one is None or two is None:
        return None
    usual_a, usual_b = usual_segments(one, two)
    with left:
        segment_a = _pick_segment(one, "A", usual_a)
    with right:
        segment_b = _pick_segment(two, "B", usual_b)
    has_more = "more_a" in st.query_params or "more_b" in st.query_params
    with st.expander("Several runs per side", expanded=has_more):
        left, right = st.columns(2)
        with left:
            a = Side("A", one, segment_a, pick_more(runs, "A", one))
        with right:
            b = Side("B", two, segment_b, pick_more(runs, "B", two))
    offer_repetitions(runs, one.profile.path.name)
    return a, b


def _usual_sides(runs: list[RunEntry]) -> tuple[int, int]:
    """Return the places of A and B, which are one if there is none to compare A with."""
    by_name = {entry.name: place for place, entry in enumerate(runs)}
    given = {key: by_name[name] for key in "ab" if (name := st.query_params.get(key)) in by_name}
    # Which runs can be compared has to be read: only if the address does not say it.
    if given or {"a", "b"} <= st.query_params.keys():
        one = next(iter(given.values()), 0)
        is_whole = {"a", "b"} <= st.query_params.keys()
        usual = None if is_whole else _usual(runs, _like(runs, runs[one]))
        other = one if usual is None else usual
        return given.get("a", other), given.get("b", other)
    last = by_name.get(st.session_state.get(LAST_RUN, ""))
    candidates = [*([] if last is None else [last]), *range(len(runs))][:_MOST_READ]
    able = [place for place in candidates if _why_not(runs[place]) is None]
    for place in able:
        partner = _usual(runs, _like(runs, runs[place]))
        if partner is not None:
            return max(place, partner), min(place, partner)
    alone = next(iter(able), 0) if last is None else last
    return alone, alone


def why_no_other(runs: list[RunEntry], a: Side) -> str:
    """Why no other run is B by default; empty if one can be compared with A."""
    own = next(entry for entry in runs if entry.path == a.opened.profile.path)
    like = _like(runs, own)
    if not like:
        return "No other run trains the workload of A."
    reasons = [(entry, _why_not(entry)) for entry in like[:_MOST_READ]]
    if any(why is None for _, why in reasons):
        return ""
    texts = [f"{plain(entry.name, 40)}: {why}" for entry, why in reasons[:_MOST_TOLD]]
    return f"No other run can be compared with A. {'; '.join(texts)}."


def _like(runs: list[RunEntry], own: RunEntry) -> list[RunEntry]:
    """Return the other runs of the same workload, or of the same program of somebody's own."""
    if own.program is not None:
        again = [each for each in runs if each is not own and own.program.is_same(each.program)]
        if again:
            return again
    workload = (own.spec or {}).get("workload")
    same = [entry for entry in runs if (entry.spec or {}).get("workload") == workload]
    return [entry for entry in same if entry is not own]


def _usual(runs: list[RunEntry], others: list[RunEntry]) -> int | None:
    """Return the place of the newest of `others` that can be compared."""
    comparable = (entry for entry in others[:_MOST_READ] if _why_not(entry) is None)
    return next((runs.index(entry) for entry in comparable), None)


def _why_not(entry: RunEntry) -> str | None:
    try:
        return open_run(entry.path).ask(why_no_partner)
    except LabError as error:
        return str(error)


def _pick_run(runs: list[RunEntry], name: str, default: int) -> OpenRun | None:
    entry = pick_run(runs, key=name.lower(), label=name, default=default, remember=False)
    if entry is None:
        say_unknown(name.lower())
        return None
    try:
        return open_run(entry.path)
    except LabError as error:
        st.error(as_markdown(error))
        return None


def _pick_segment(opened: OpenRun, name: str, usual: SegmentOpened | None) -> SegmentOpened | None:
    if usual is None:
        return None
    key = f"segment_{name.lower()}"
    return choose_segment(opened.profile, usual, f"Segment of {name}", key)


def usual_segments(a: OpenRun, b: OpenRun) -> tuple[SegmentOpened | None, SegmentOpened | None]:
    """Return the segments that are compared if none was chosen; None of a run that has none.

    Of one run, the first against the last is the question that a live change raises. Of two, they
    are those that `strategy-lab compare` takes.
    """
    if a.profile.path == b.profile.path:
        segments = sorted(a.profile.segments, key=attrgetter("segment"))
        return (segments[0], segments[-1]) if segments else (None, None)
    return _segment_of(a), _segment_of(b)


def _segment_of(opened: OpenRun) -> SegmentOpened | None:
    try:
        return opened.ask(chosen_segment)[0]
    except AnalysisError:  # no step that can be compared; the page says so
        return headline_segment(opened.profile)


def _swap() -> None:
    for left, right in (("a", "b"), ("segment_a", "segment_b"), ("more_a", "more_b")):
        values = st.query_params.get_all(left), st.query_params.get_all(right)
        for key, value in ((left, values[1]), (right, values[0])):
            if value:
                st.query_params[key] = value
            else:
                st.query_params.pop(key, None)
    for key in [key for key in st.session_state if str(key).startswith(("segment_a", "segment_b"))]:
        del st.session_state[key]
