"""Where the page is: the first one of the place Experiment, at `/what_if`."""

from __future__ import annotations

from strategy_app.added_pages import Page


def _show() -> None:
    from strategy_replay.whatif.page import show_page

    show_page()


PAGE = Page(
    "What if",
    _show,
    place="Experiment",
    way="A step",
    before="compare",
    needs=("Button", "NumberInput", "TextInput", "DataFrame"),
)
