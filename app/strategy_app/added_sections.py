"""What packages add to pages about a run: entry points of the group `strategy_lab.sections`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategy_profiles.registered import loaded

if TYPE_CHECKING:
    from strategy_app.server.opened import OpenRun
    from strategy_profiles.analysis.facts import Finding


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page of the lab, below what it says first."""

    page: str
    """The address of that page."""
    show: Callable[[OpenRun, int], None]
    """Draws it, with Streamlit, of a run and the number of a segment."""


@dataclass(frozen=True, slots=True)
class BelowFinding:
    """A part below each finding of the page Why."""

    show: Callable[[OpenRun, Finding], None]
    """Draws it, with Streamlit: what can be done about the finding of a run."""


def show_added(page: str, opened: OpenRun, segment: int) -> None:
    """Draw the sections of every package that can be loaded."""
    for each in _added():
        if isinstance(each, Section) and each.page == page:
            each.show(opened, segment)


def show_below(opened: OpenRun, finding: Finding) -> None:
    """Draw what packages add below a finding."""
    for each in _added():
        if isinstance(each, BelowFinding):
            each.show(opened, finding)


def _added() -> list[Section | BelowFinding]:
    return list(loaded("sections", (Section, BelowFinding))[0].values())
