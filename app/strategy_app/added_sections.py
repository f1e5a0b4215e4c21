"""Sections that packages add to pages about a run: entry points of `strategy_lab.sections`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategy_profiles.registered import loaded

if TYPE_CHECKING:
    from strategy_app.server.opened import OpenRun


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page of the lab, below what it says first."""

    page: str
    """The address of that page."""
    show: Callable[[OpenRun, int], None]
    """Draws it, with Streamlit, of a run and the number of a segment."""


def show_added(page: str, opened: OpenRun, segment: int) -> None:
    """Draw the sections of every package that can be loaded."""
    for each in loaded("sections", Section)[0].values():
        if each.page == page:
            each.show(opened, segment)
