"""What a live reconfiguration moved: a segment against an earlier one of its run."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.segments import segment_title
from strategy_app.widgets.table import number, show_table, text, texts
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.analysis.placement_change import How, PlacementChange, placement_change
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import folded, short_names
from strategy_profiles.run.events import SegmentOpened

MAX_ROWS = 5_000
WAYS: dict[How, tuple[str, str]] = {
    "moved": ("moved", "moved"),
    "fewer copies": ("has fewer copies", "have fewer copies"),
    "more copies": ("has more copies", "have more copies"),
    "added": ("was added", "were added"),
    "gone": ("is gone", "are gone"),
}
"""What happened to a variable, and to several."""


def show_difference(opened: OpenRun, segment: SegmentOpened) -> None:
    """Draws nothing for the first segment."""
    if (before := _before(opened, segment)) is not None:
        show_moves(opened, before, segment)


def show_what_changed(opened: OpenRun, segment: SegmentOpened) -> None:
    """Say in a sentence what `show_difference` shows in tables; nothing for the first segment."""
    before = _before(opened, segment)
    if before is None:
        return
    found = opened.ask(placement_change, before.segment, segment.segment)
    if found.reason:
        return
    ops = f"{units.counted(len(found.moved_ops), 'op')} changed device"
    if len(found.moved_ops) == 1:
        (move,) = found.moved_ops
        short = short_names((move.before, move.after))
        names = map(as_markdown, (move.name, short[move.before], short[move.after]))
        ops += ": {} from {} to {}".format(*names)
    st.markdown(f"Since segment {before.segment}, {_counted(found)}; {ops}.")


def _before(opened: OpenRun, segment: SegmentOpened) -> SegmentOpened | None:
    earlier = [item for item in opened.profile.segments if item.segment < segment.segment]
    return earlier[-1] if earlier else None


def show_moves(opened: OpenRun, before: SegmentOpened, segment: SegmentOpened) -> None:
    """What is on another device in `segment` than in `before`, of the same run."""
    st.header(
        "What the reconfiguration moved",
        help="Variables and ops of both segments, matched by name. Names are compared without "
        "the counters that TensorFlow appends, ops by their type as well.",
    )
    found = opened.ask(placement_change, before.segment, segment.segment)
    if found.reason:
        st.markdown(f"Not known: {as_markdown(found.reason)}.")
        return
    st.markdown(
        f"From **{as_markdown(segment_title(before))}** to "
        f"**{as_markdown(segment_title(segment))}**: {_counted(found)}."
    )
    if found.variables:
        st.subheader("Variables")
        _show_variables(found)
    st.subheader("Ops that changed device")
    st.markdown(_about_ops(found))
    if not found.moved_ops:
        if any(device.before != device.after for device in found.ops):
            _show_ops(found)
        return
    left, right = st.columns([2, 1])
    with left:
        _show_moved_ops(found)
    with right:
        _show_ops(found)


def _counted(found: PlacementChange) -> str:
    """`35 variables have fewer copies, 2 are gone; 3 stayed`."""
    counts = Counter(move.how for move in found.variables)
    words = [
        f"{counts[how]:,} {ways[counts[how] > 1]}" for how, ways in WAYS.items() if counts[how]
    ]
    if not words:
        return "every variable stayed where it was"
    number, _, rest = ", ".join(words).partition(" ")
    noun = "variable" if number == "1" else "variables"
    return f"{number} {noun} {rest}; {found.num_same:,} stayed"


def _show_variables(found: PlacementChange) -> None:
    short = short_names(name for move in found.variables for name in (*move.before, *move.after))
    show_table(
        "placement_changes",
        found.variables[:MAX_ROWS],
        {
            "how": text("Change", lambda move: move.how, width=100),
            "name": text("Variable", lambda move: plain(move.name, 200), width="medium"),
            "before": texts("Was on", lambda move: folded(short[name] for name in move.before)),
            "after": texts("Is on", lambda move: folded(short[name] for name in move.after)),
        },
        most_rows=8,
    )
    if len(found.variables) > MAX_ROWS:
        st.caption(f"The first {units.counted(MAX_ROWS, 'row')} are shown.")


def _about_ops(found: PlacementChange) -> str:
    """Say how many ops changed device, stayed, and could not be matched."""
    num, same = len(found.moved_ops), found.num_same_ops
    if not num + same:
        return "No op of one segment could be matched with one of the other."
    moved = f"**{units.counted(num, 'op')}** changed device" if num else "No op changed device"
    text = f"{moved}; {same:,} stayed."
    before, after = found.num_unmatched
    if before or after:
        text += (
            f" Not matched: {units.counted(before, 'op')} of segment {found.before} and {after:,} "
            f"of segment {found.after}, whose names are not equally frequent in both."
        )
    return text


def _show_moved_ops(found: PlacementChange) -> None:
    short = short_names(name for move in found.moved_ops for name in (move.before, move.after))
    show_table(
        "placement_moved_ops",
        found.moved_ops[:MAX_ROWS],
        {
            "name": text("Op", lambda move: plain(move.name, 200), width="medium"),
            "type": text("Type", lambda move: plain(move.type or "", 80), width=120),
            "before": text("Was on", lambda move: plain(short[move.before]), width=90),
            "after": text("Is on", lambda move: plain(short[move.after]), width=90),
        },
        most_rows=8,
    )
    if len(found.moved_ops) > MAX_ROWS:
        st.caption(f"The first {units.counted(MAX_ROWS, 'row')} are shown.")


def _show_ops(found: PlacementChange) -> None:
    short = short_names(item.device for item in found.ops)
    show_table(
        "placement_op_counts",
        found.ops,
        {
            "device": text("Device", lambda item: plain(short[item.device])),
            "before": number("Ops before", lambda item: item.before, format="localized"),
            "after": number("Ops after", lambda item: item.after, format="localized"),
        },
        most_rows=8,
    )
