"""Links from page to page that keep the chosen run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.topology import has_servers

RUN_PAGES = (
    ("overview", "Overview"),
    ("timeline", "Timeline"),
    ("film", "Step film"),
    ("what_if", "What if"),
    ("communication", "Communication"),
    ("placement", "Placement"),
    ("compare", "Compare"),
)
"""Pages about a run of any strategy, by the name in their address, with their title."""
_CORES, _SERVERS = ("cores", "TPU cores"), ("servers", "Servers")
PAGES = Path(__file__).parents[1] / "pages"


def run_pages(segments: Sequence[SegmentOpened]) -> tuple[tuple[str, str], ...]:
    """The pages that have something to show of a run with these segments."""
    with_cores = any(segment.core_devices for segment in segments)
    with_servers = any(map(has_servers, segments))
    return (*RUN_PAGES, *[_CORES] * with_cores, *[_SERVERS] * with_servers)


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
