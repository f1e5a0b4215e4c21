"""Where the page is: beside the placement of a run, at `/servers`."""

from __future__ import annotations

from strategy_app.added_pages import Page
from strategy_profiles.run.topology import has_servers


def _show() -> None:
    from strategy_servers.shown.page import show_page

    show_page()


PAGE = Page(
    "Parameter servers",
    _show,
    place="Run",
    beside="placement",
    needs=("ButtonGroup", "TextInput", "WidgetLabelHelpIconInline", "DataFrame", "BidiComponent"),
    has_charts=True,
    fits=has_servers,
)
