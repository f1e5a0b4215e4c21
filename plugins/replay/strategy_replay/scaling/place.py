"""Where the page is: beside What if, at `/scaling`."""

from __future__ import annotations

from strategy_app.added_pages import Page


def _show() -> None:
    from strategy_replay.scaling.page import show_page

    show_page()


PAGE = Page(
    "More replicas",
    _show,
    place="Experiment",
    beside="what_if",
    needs=("NumberInput", "TextInput", "FileUploader", "DownloadButton"),
)
