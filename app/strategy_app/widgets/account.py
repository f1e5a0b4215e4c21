"""The account of the loop's time as a table: each part below the part that it divides."""

from __future__ import annotations

import streamlit as st

from strategy_app.widgets.html_table import html_table
from strategy_profiles.analysis.account.shown import TITLE, shown_rows
from strategy_profiles.analysis.account.table import row_fields
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.reporting import units

_HEADS = ("Part", "ms a step", "Of the loop", "Source", "Where")


def show_account(facts: Facts) -> None:
    """Show the rows of a segment; nothing without a step."""
    rows = list(shown_rows([row_fields(facts.account, row) for row in facts.account.rows]))
    if not rows:
        return
    st.header(
        TITLE,
        help="The wall time of the thread that trains, divided once: the parts of a row add up to "
        "it. Sampled parts are of the thread's stack, 8 to 20 times a second; derived ones are of "
        "captured steps, scaled to all.",
    )
    st.html(
        html_table(
            _HEADS,
            [
                [
                    row.title,
                    units.number(row.ms_per_step),
                    units.share(row.share),
                    row.source,
                    row.where,
                ]
                for row in rows
            ],
            texts=("Part", "Source", "Where"),
            name=TITLE,
            depths=[row.depth for row in rows],
        )
    )
