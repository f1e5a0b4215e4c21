"""What a live reconfiguration moved: the chosen segment against the one before it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from strategy_lab.app.widgets.opened import OpenRun
from strategy_lab.app.widgets.segments import segment_title
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
    rows = [
        {
            "how": move.how,
            "name": plain(move.name, 200),
            "before": [short[name] for name in move.before],
            "after": [short[name] for name in move.after],
        }
        for move in found.variables[:MAX_ROWS]
    ]
    if not rows:
        return
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        column_config={
            "how": column.TextColumn("Change", width=70),
            "name": column.TextColumn("Variable", width="medium"),
            "before": column.ListColumn("Was on"),
            "after": column.ListColumn("Is on"),
        },
        hide_index=True,
        key="placement_changes",
        height=min(38 + 35 * len(rows), 38 + 35 * 8),
    )
    if len(found.variables) > MAX_ROWS:
        st.caption(f"The first {units.counted(MAX_ROWS, 'row')} are shown.")


def _show_ops(found: PlacementChange) -> None:
    short = short_names(item.device for item in found.ops)
    column = st.column_config
    st.dataframe(
        pd.DataFrame(
            [
                {"device": plain(short[item.device]), "before": item.before, "after": item.after}
                for item in found.ops
            ]
        ),
        column_config={
            "device": column.TextColumn("Device"),
            "before": column.NumberColumn("Ops before", format="localized"),
            "after": column.NumberColumn("Ops after", format="localized"),
        },
        hide_index=True,
        key="placement_op_counts",
        height=min(38 + 35 * max(len(found.ops), 1), 38 + 35 * 8),
    )
