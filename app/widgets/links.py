"""Links from page to page that keep the chosen run."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

PAGES = Path(__file__).parents[1] / "pages"


def page_link(page: str, label: str, *, run: str | None = None) -> None:
    """A link to a page by the name in its address, e.g. `timeline`, about a run."""
    query = {"run": run} if run is not None else None
    st.page_link(str(PAGES / f"{page}.py"), label=label, query_params=query)
