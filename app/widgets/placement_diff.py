"""What a live reconfiguration moved: the chosen segment against the one before it."""

from __future__ import annotations

import streamlit as st

from strategy_lab.app.widgets.opened import OpenRun
from strategy_lab.app.widgets.segments import segment_title
from strategy_lab.app.widgets.table import number, show_table, text, texts
from strategy_lab.app.widgets.text import as_markdown, plain
from strategy_lab.profiles.analysis.placement_change import How, PlacementChange, placement_change
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.device_names import short_names
from strategy_lab.profiles.run.events import SegmentOpened

MAX_ROWS = 5_000
WAYS: tuple[How, ...] = ("moved", "added", "gone")


def show_difference(opened: OpenRun, segment: SegmentOpened) -> None:
    """Draws nothing for the first segment."""
    earlier = [item for item in opened.profile.segments if item.segment < segment.segment]
    if not earlier:
        return
    before = earlier[-1]
    st.header(
        "What the reconfiguration moved",
        help="Compares variables by name and ops by device with the segment before.",
    )
    found = opened.ask(placement_change, before.segment, segment.segment)
    if found.reason:
        st.markdown(f"Not known: {as_markdown(found.reason)}.")
        return
    st.markdown(
        f"From **{as_markdown(segment_title(before))}** to "
        f"**{as_markdown(segment_title(segment))}**: {_counted(found)}."
    )
    left, right = st.columns([2, 1])
    with left:
        _show_variables(found)
    with right:
        _show_ops(found)


def _counted(found: PlacementChange) -> str:
    """`35 variables moved, 2 gone; 3 stayed`."""
    counts = [(how, sum(move.how == how for move in found.variables)) for how in WAYS]
    words = [f"{num:,} {how}" for how, num in counts if num]
    if not words:
        return "every variable stayed where it was"
    number, _, rest = ", ".join(words).partition(" ")
    noun = "variable" if number == "1" else "variables"
    return f"{number} {noun} {rest}; {found.num_same:,} stayed"


def _show_variables(found: PlacementChange) -> None:
    short = short_names(name for move in found.variables for name in (*move.before, *move.after))
    if not found.variables:
        return
    show_table(
        "placement_changes",
        found.variables[:MAX_ROWS],
        {
            "how": text("Change", lambda move: move.how, width=70),
            "name": text("Variable", lambda move: plain(move.name, 200), width="medium"),
            "before": texts("Was on", lambda move: [short[name] for name in move.before]),
            "after": texts("Is on", lambda move: [short[name] for name in move.after]),
        },
        most_rows=8,
    )
    if len(found.variables) > MAX_ROWS:
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
