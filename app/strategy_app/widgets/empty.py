"""An empty state says what is missing, why, and what to do next."""

from __future__ import annotations

import streamlit as st

from strategy_app.widgets.links import page_link
from strategy_app.widgets.text import sentence_as_markdown


def empty(missing: str, next_step: str = "", *, page: str = "", link: str = "") -> None:
    """Draw a box that says what is missing, what to do, and links to the page where to do it.

    `page` is the page's name in its address; `missing` and `next_step` may hold
    text from a run.
    """
    with st.container(border=True):
        st.markdown(f"**{sentence_as_markdown(missing)}**")
        if next_step:
            st.markdown(sentence_as_markdown(next_step))
        if page:
            page_link(page, f"{link} →")
