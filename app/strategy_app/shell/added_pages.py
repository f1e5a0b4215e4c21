"""Pages that packages add, by entry points of the group `strategy_lab.pages`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from strategy_profiles.errors import LabError
from strategy_profiles.registered import loaded


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the navigation, at the address of its entry point's name."""

    title: str
    show: Callable[[], None]
    """Draws it with Streamlit; called at each run of the page."""


def added_pages() -> dict[str, Page]:
    """The pages by address; one that cannot be loaded says why in its place."""
    pages, errors = loaded("pages", Page)
    return pages | {name: _explained(name, error) for name, error in errors.items()}


def _explained(name: str, error: LabError) -> Page:
    return Page(name, lambda: st.error(str(error)))
