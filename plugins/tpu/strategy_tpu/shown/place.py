"""Where the page is: beside the placement of a run, at `/cores`."""

from __future__ import annotations

from strategy_app.added_pages import Page
from strategy_tpu.shown.question import has_cores


def _show() -> None:
    from strategy_tpu.shown.page import show_page

    show_page()


PAGE = Page(
    "TPU cores",
    _show,
    place="Run",
    beside="placement",
    needs=("DataFrame", "BidiComponent"),
    has_charts=True,
    fits=has_cores,
)
