"""S, S_t and S_w of a run: what differences between its replicas cost."""

from __future__ import annotations

import streamlit as st

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.table import number, show_table, text
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.replay.recording import ReplayError
from strategy_profiles.replay.replays import replays
from strategy_profiles.replay.slowdowns import LEAST, Slowdowns, slowdowns
from strategy_profiles.tables.store import Profile

_SHOWN = 15


def show_slowdowns(opened: OpenRun, segment: int) -> None:
    """Draw the section. Its figures take a replay for each type of op, so they wait for a click."""
    st.header("Differences between replicas")
    if not st.toggle(
        "Show what they cost",
        key="what_if_slowdowns",
        help="S is the replayed step over an ideal one, in which each replica takes the mean of "
        "the replicas for the ops of a type, and the median for delays and transfers. S_t leaves "
        "the ops of type t as they are, S_w replica w.",
    ):
        return
    try:
        found = opened.ask(_slowdowns, segment)
    except ReplayError as error:
        st.caption(as_markdown(error, 300))
        return
    if found.whole < LEAST:
        st.markdown("The replicas take as long as each other: S is 1.00.")
        return
    st.markdown(
        f"The step takes **{found.whole:.2f} times** as long as one of equal replicas (S), by "
        "the replay."
    )
    rows = [("S_t", op, value) for op, value in list(found.by_op.items())[:_SHOWN]]
    rows += [("S_w", f"replica {each}", value) for each, value in found.by_replica.items()]
    show_table(
        "what_if_slowdowns_table",
        rows,
        {
            "figure": text("Figure", lambda row: row[0], width="small"),
            "of": text("Of", lambda row: plain(row[1])),
            "times": number("Times an ideal step", lambda row: row[2], format="%.3f"),
        },
    )


def _slowdowns(profile: Profile, segment: int) -> Slowdowns:
    return slowdowns(replays(profile, segment))
