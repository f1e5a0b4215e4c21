"""The two sides of a comparison: a run and one of its segments each, from `?a=..&b=..`."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from strategy_lab.app.parts.opened import OpenRun, open_run
from strategy_lab.app.parts.picker import LAST_RUN, pick_run
from strategy_lab.app.parts.runs_folder import RunEntry
from strategy_lab.app.parts.segments import segment_titles
from strategy_lab.app.parts.text import as_markdown, plain
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.events import SegmentOpened
from strategy_lab.profiles.user_text import whole_or_none


@dataclass(frozen=True, slots=True)
class Side:
    """One side, `A` or `B`. `segment` is None where the run has none."""

    name: str
    opened: OpenRun
    segment: SegmentOpened | None

    @property
    def title(self) -> str:
        """The run, and which segment of it where there are several."""
        name = plain(self.opened.profile.path.name, 60)
        if self.segment is None or len(self.opened.profile.segments) < 2:
            return name
        return f"{name}, segment {self.segment.segment}"


def pick_sides(runs: list[RunEntry]) -> tuple[Side, Side] | None:
    """Two pickers; by default the run looked at last and the newest other one."""
    names = [entry.name for entry in runs]
    last = st.session_state.get(LAST_RUN)
    first = names.index(last) if last in names else 0
    other = next((i for i in range(len(names)) if i != first), first)
    left, middle, right = st.columns([8, 1.4, 8])
    with left:
        a = _pick(runs, "A", first)
    with middle:
        st.space("small")  # beside the pickers, below their labels
        st.button("⇄", key="swap", help="Exchange A and B", width="stretch", on_click=_swap)
    with right:
        b = _pick(runs, "B", other)
    return (a, b) if a and b else None


def _pick(runs: list[RunEntry], name: str, default: int) -> Side | None:
    entry = pick_run(runs, key=name.lower(), label=name, default=default, remember=False)
    if entry is None:
        return None
    try:
        opened = open_run(entry.path)
    except LabError as error:
        st.error(as_markdown(error))
        return None
    return Side(name, opened, _pick_segment(opened, name))


def _pick_segment(opened: OpenRun, name: str) -> SegmentOpened | None:
    segments = {item.segment: item for item in opened.profile.segments}
    if len(segments) < 2:
        return next(iter(segments.values()), None)
    titles = segment_titles(opened.profile.segments)
    key = f"segment_{name.lower()}"
    asked = whole_or_none(st.query_params.get(key, ""))
    # Of one run, the first segment against the last is the question that a live change raises.
    usual = min(segments) if name == "A" else max(segments)
    wanted = asked if asked in segments else usual
    chosen = st.segmented_control(
        f"Segment of {name}",
        list(segments),
        default=wanted,
        format_func=lambda number: f"{number}: {titles[number]}",
        key=f"{key}_of_{opened.profile.path.name}",
    )
    number = wanted if chosen is None else chosen
    st.query_params[key] = str(number)
    return segments[number]


def _swap() -> None:
    for left, right in (("a", "b"), ("segment_a", "segment_b")):
        values = st.query_params.get(left), st.query_params.get(right)
        for key, value in ((left, values[1]), (right, values[0])):
            if value is None:
                st.query_params.pop(key, None)
            else:
                st.query_params[key] = value
    for key in [key for key in st.session_state if str(key).startswith(("segment_a", "segment_b"))]:
        del st.session_state[key]
