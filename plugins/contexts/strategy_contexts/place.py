"""Where the page is: the place Learn, at `/contexts`."""

from __future__ import annotations

from strategy_app.added_pages import Page
from strategy_app.server.viewers import current_viewer
from strategy_contexts.lab_recordings import lab_recordings


def _show() -> None:
    from strategy_contexts.page import show_page

    show_page()


def _leave() -> None:
    lab_recordings().leave(current_viewer())


PAGE = Page(
    "Contexts",
    _show,
    place="Learn",
    needs=("ButtonGroup", "Button", "DownloadButton", "LinkButton", "IFrame"),
    leave=_leave,
)
