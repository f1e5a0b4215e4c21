"""An empty state says what is missing, why, and what to do next."""

from __future__ import annotations

import streamlit as st

from app.parts.text import as_markdown


def empty(missing: str, next_step: str = "", *, page: str = "", link: str = "") -> None:
    """One calm box: what is not there, what to do, and a link to the page where it is done.

    `page` is a page's file relative to the app's script; `missing` and `next_step` may hold
    text from a run.
    """
    with st.container(border=True):
        st.markdown(f"**{as_markdown(missing)}**")
        if next_step:
            st.markdown(as_markdown(next_step))
        if page:
            st.page_link(page, label=link)
