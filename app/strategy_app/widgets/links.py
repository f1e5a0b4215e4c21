"""Links from page to page that keep the chosen run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

PAGES = Path(__file__).parents[1] / "pages"


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
    st.page_link(str(PAGES / f"{page}.py"), label=label, query_params=query)


def open_page(page: str, run: str) -> None:
    """Go to a page about a run."""
    st.switch_page(str(PAGES / f"{page}.py"), query_params={"run": run})


def open_step(page: str, run: str, step: int) -> None:
    """Go to a page about a run, at a step."""
    st.switch_page(str(PAGES / f"{page}.py"), query_params={"run": run, "step": str(step)})
