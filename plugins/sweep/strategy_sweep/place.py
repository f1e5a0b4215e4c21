"""Where the page is: in the row of Runs, at `/sweep`."""

from __future__ import annotations

from strategy_app.added_pages import Page


def _show() -> None:
    from strategy_sweep.page import show_page

    show_page()


PAGE = Page(
    "Sweep", _show, place="Runs", needs=("Button", "NumberInput", "TextInput", "Multiselect")
)
