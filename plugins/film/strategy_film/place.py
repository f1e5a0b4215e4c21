"""Where the page is: beside the timeline of a run, at `/film`."""

from __future__ import annotations

from strategy_app.added_pages import Page


def _show() -> None:
    from strategy_film.page import show_page

    show_page()


PAGE = Page(
    "Step film",
    _show,
    place="Run",
    beside="timeline",
    needs=("LinkButton", "DownloadButton", "IFrame"),
)
