"""The places of the page: what the header leads to, and what each place shows of a run.

A page's address is the name of its file. All that names pages, their titles and their order is
here; pages that packages add say in which place they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from strategy_app.added_pages import Page, added_pages
from strategy_app.widgets.links import page_link
from strategy_profiles.run.events import SegmentOpened


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in its place's row, with pages that show the same in another way."""

    page: str
    title: str
    modes: tuple[tuple[str, str], ...] = ()
    """Address and title of each way, its own first."""

    @property
    def titles(self) -> dict[str, str]:
        """Title by address."""
        return dict(self.modes) | {self.page: self.title}


@dataclass(frozen=True, slots=True)
class Place:
    """An item of the header. It leads to the place's first page."""

    title: str
    entries: tuple[Entry, ...]

    @property
    def pages(self) -> list[str]:
        return [page for entry in self.entries for page in entry.titles]


WHY = Entry("overview", "Why")
LIVE = "lab"
"""The page of a new run, and with `?run=`, of a run as it goes on."""
_WAYS_OF_WHY = ((WHY.page, "Cause"), (LIVE, "Steps"))
RUN = "Run"
_RUN = Place(
    RUN,
    (
        WHY,
        Entry("timeline", "Timeline", (("timeline", "All steps"),)),
        Entry("communication", "Communication"),
        Entry("placement", "Model", (("placement", "Placement"),)),
    ),
)
_PLACES = (
    Place("Runs", (Entry("runs", "All runs"), Entry("lab", "New run"))),
    _RUN,
    Place("Experiment", (Entry("compare", "Compare"),)),
    Place("Learn", ()),
    Place("Help", (Entry("help", "Help"),)),
)


def places() -> tuple[Place, ...]:
    """The places that have a page, by their order in the header."""
    added = added_pages()
    return tuple(each for place in _PLACES if (each := _with_added(place, added)).entries)


def _with_added(place: Place, added: Mapping[str, Page]) -> Place:
    added_pages = {address: page for address, page in added.items() if page.place == place.title}
    known = {*place.pages, *added_pages}
    entries = list(place.entries)
    for address, page in added_pages.items():
        if page.beside not in known:  # alone, too, without the page that it is beside
            pages = [each.page for each in entries]
            at = pages.index(page.before) if page.before in pages else len(pages)
            modes = ((address, page.way),) if page.way else ()
            entries.insert(at, Entry(address, page.title, modes))
    for number, entry in enumerate(entries):
        beside = [
            (each, page.title) for each, page in added_pages.items() if page.beside == entry.page
        ]
        entries[number] = replace(entry, modes=(*entry.modes, *beside))
    return replace(place, entries=tuple(entries))


def place_called(title: str) -> Place:
    """The place of this title."""
    return next(place for place in places() if place.title == title)


def titles() -> dict[str, str]:
    """The title of each page that has a place, by its address."""
    entries = (entry for place in places() for entry in place.entries)
    return {page: title for entry in entries for page, title in entry.titles.items()}


def has_something(page: str, segments: Sequence[SegmentOpened]) -> bool:
    """Whether a page has anything to show of a run with these segments."""
    added = added_pages().get(page)
    return added is None or added.fits is None or any(map(added.fits, segments))


def show_head(
    page: str,
    run: str | None = None,
    segments: Sequence[SegmentOpened] = (),
    *,
    is_over: bool = True,
) -> None:
    """Draw the row of a page's place, and the page's title for those who do not see the row.

    Args:
      page: the page's address.
      run: the run that the links lead to pages about.
      segments: those of the run: a page without anything to show of it is left out.
      is_over: whether the run is. Of one that goes on, Why is the page that follows it.
    """
    place = next(each for each in places() if page in each.pages)
    entry = next(each for each in place.entries if page in each.titles)
    modes = [item for item in entry.modes if has_something(item[0], segments) or item[0] == page]
    with page_row():
        with st.container(key="page_title"):
            st.title(entry.titles[page], anchor=False)
            mark_place(place.title, entry.page)
        show_row(place.title, run, is_over=is_over)
        if entry.page == WHY.page and run is not None:
            show_ways_of_why(run)
        elif len(modes) > 1:
            _show_modes(modes, run)


def page_row() -> DeltaGenerator:
    """The container of a place's row."""
    return st.container(
        key="page_row",
        horizontal=True,
        gap="xxsmall",
        vertical_alignment="center",
        width="content",
    )


def show_row(title: str, run: str | None, *, is_over: bool = True) -> None:
    """Draw the links to a place's pages."""
    entries = place_called(title).entries
    if len(entries) > 1:
        for each in entries:
            is_live = each.page == WHY.page and run is not None and not is_over
            page_link(LIVE if is_live else each.page, each.title, run=run)


def show_ways_of_why(run: str) -> None:
    """Draw the links to the cause of a run and to its steps as they come."""
    _show_modes(_WAYS_OF_WHY, run)


def _show_modes(modes: Sequence[tuple[str, str]], run: str | None) -> None:
    with st.container(key="page_modes", horizontal=True, gap="xxsmall", width="content"):
        for address, title in modes:
            page_link(address, title, run=run)


def mark_place(title: str, page: str = "") -> None:
    """Mark the header's item of a place, and the row's item of a page.

    Streamlit marks only the page that is open, which may be another mode of the row's item.
    """
    header = f'[data-testid=stTopNavLink][href$="/{place_called(title).entries[0].page}"]'
    addresses = [f'[href="{page}"]', f'[href^="{page}?"]']
    addresses += ['[href^="?"]'] if page == WHY.page else []  # of a run that goes on
    row = f".st-key-page_row a:not(.st-key-page_modes a):is({', '.join(addresses)})"
    marked = "background:rgba(151, 166, 195, 0.2) !important; font-weight:600"
    st.html(f"<style>{header}, {row} {{{marked}}}</style>")
