"""The document's title, by which a browser's tabs and history tell pages apart."""

from __future__ import annotations

import streamlit as st

from strategy_app.widgets.text import plain

LAB = "Strategy Lab"


def set_title(page: str, *runs: str) -> None:
    """Set the title to the page and the runs that it shows: `Why: mine · Strategy Lab`."""
    heading = f"{page}: {' and '.join(plain(run, 60) for run in runs)}" if runs else page
    st.set_page_config(page_title=f"{heading} · {LAB}")
