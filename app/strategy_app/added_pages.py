"""Pages that packages add, by entry points of the group `strategy_lab.pages`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from strategy_profiles.errors import LabError
from strategy_profiles.registered import loaded, registered
from strategy_profiles.run.events import SegmentOpened

_PAGES = Path(__file__).with_name("pages")


@dataclass(frozen=True, slots=True)
class Page:
    """A page at the address of its entry point's name."""

    title: str
    show: Callable[[], None]
    """Draws it with Streamlit; called at each run of the page."""
    place: str | None = None
    """The title of the place in whose row it is; None: it is an item of the header."""
    beside: str | None = None
    """The page of that place, by its address, that shows the same in another way."""
    way: str | None = None
    """What it is called where pages beside it show the same in another way."""
    before: str | None = None
    """The page of that place, by its address, that comes after it; None: it comes last."""
    needs: tuple[str, ...] = ()
    """Streamlit's modules that it draws with, as in `strategy_app.server.assets.NEEDED`."""
    has_charts: bool = False
    """Whether the library that draws charts is to load before anything is drawn."""
    fits: Callable[[SegmentOpened], bool] | None = None
    """Whether it has anything to show of a segment. Of a run without such a segment, no link leads
    to it; None: it has something of every run."""
    leave: Callable[[], None] | None = None
    """Called at each run of another page, with the viewer that is there."""


def addresses() -> set[str]:
    """The address of every page, found without importing any."""
    return {*(file.stem for file in _PAGES.glob("[a-z]*.py")), *registered("pages")}


def added_pages() -> dict[str, Page]:
    """The pages by address; one that cannot be loaded says why in its place."""
    pages, errors = loaded("pages", Page)
    by_name = pages | {name: _explained(name, error) for name, error in errors.items()}
    return {name: page for name, page in by_name.items() if not _page_file(name).is_file()}


def source_of(address: str) -> Path | Callable[[], None]:
    """What Streamlit runs to draw a page: a file of the lab's, or a function of a package."""
    own = _page_file(address)
    return own if own.is_file() else added_pages()[address].show


def _page_file(address: str) -> Path:
    return _PAGES / f"{address}.py"


def _explained(name: str, error: LabError) -> Page:
    return Page(name, lambda: st.error(str(error)))
