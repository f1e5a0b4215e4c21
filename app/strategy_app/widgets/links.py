"""Links from page to page that keep the chosen run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from strategy_app.added_pages import source_of


def page_link(
    page: str,
    label: str,
    *,
    run: str | None = None,
    query: Mapping[str, str | Sequence[str]] | None = None,
) -> None:
    """A link to a page by the name in its address, e.g. `timeline`, about a run or with a query."""
    if run is not None:
        query = {"run": run}
    st.page_link(_page(page), label=label, query_params=query)


def open_page(page: str, run: str, step: int | None = None) -> None:
    """Go to a page about a run, at a step."""
    place = {} if step is None else {"step": str(step)}
    st.switch_page(_page(page), query_params={"run": run} | place)


def _page(address: str) -> str | StreamlitPage:
    source = source_of(address)
    return st.Page(source, url_path=address) if callable(source) else str(source)
