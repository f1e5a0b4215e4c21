"""What a live reconfiguration moved: the chosen segment against the one before it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.parts.opened import OpenRun
from app.parts.segments import segment_title
from app.parts.text import as_markdown, plain
from profiles.analysis.placement_change import Change, How, placement_change
from profiles.device_names import short_names
from profiles.events import SegmentOpened

MAX_ROWS = 5_000
WAYS: tuple[How, ...] = ("moved", "added", "gone")


def show_difference(opened: OpenRun, segment: SegmentOpened) -> None:
    """Nothing where there is no segment before this one."""
    earlier = [item for item in opened.profile.segments if item.segment < segment.segment]
    if not earlier:
        return
    before = earlier[-1]
    st.subheader(
        "What the reconfiguration moved",
        help="Ops and variables by name, in the segment before and in this one.",
    )
    found = opened.ask(placement_change, before.segment, segment.segment)
    if found.reason:
        st.markdown(f"Not known: {as_markdown(found.reason)}.")
        return
    st.markdown(
        f"From **{as_markdown(segment_title(before))}** to "
        f"**{as_markdown(segment_title(segment))}**: {_counted(found.changes)} "
        f"{found.num_same:,} stayed where they were."
    )
    if found.changes:
        _show_changes(found.changes)


def _counted(changes: tuple[Change, ...]) -> str:
    parts = []
    for kind, plural in (("variable", "variables"), ("op", "ops")):
        of_kind = [change for change in changes if change.kind == kind]
        counts = [(how, sum(change.how == how for change in of_kind)) for how in WAYS]
        words = [f"{num:,} {how}" for how, num in counts if num]
        if words:
            parts.append(f"{plural} {', '.join(words)};")
    return " ".join(parts) or "nothing changed;"


def _show_changes(changes: tuple[Change, ...]) -> None:
    short = short_names(name for change in changes for name in (*change.before, *change.after))
    rows = [
        {
            "how": change.how,
            "kind": change.kind,
            "name": plain(change.name, 200),
            "before": [short[name] for name in change.before],
            "after": [short[name] for name in change.after],
        }
        for change in changes[:MAX_ROWS]
    ]
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        column_config={
            "how": column.TextColumn("Change", width="small"),
            "kind": column.TextColumn("Kind", width="small"),
            "name": column.TextColumn("Name", width="large"),
            "before": column.ListColumn("Was on", width="medium"),
            "after": column.ListColumn("Is on", width="medium"),
        },
        hide_index=True,
        key="placement_changes",
        height=min(38 + 35 * len(rows), 38 + 35 * 8),
    )
    if len(changes) > MAX_ROWS:
        st.caption(f"The first {MAX_ROWS:,} of {len(changes):,} are shown.")
