"""Where the picture is: on the page Placement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_app.added_sections import Section

if TYPE_CHECKING:
    from strategy_app.server.opened import OpenRun


def _show(opened: OpenRun, segment: int) -> None:
    from strategy_model.on_devices import show_model_graph

    show_model_graph(opened, segment)


SECTION = Section("placement", _show)
