"""Where the page is: in Help, at `/doctor`."""

from __future__ import annotations

from strategy_app.added_pages import Page


def _show() -> None:
    from strategy_doctor.page import show_page

    show_page()


PAGE = Page("This installation", _show, place="Help", needs=("Button",))
