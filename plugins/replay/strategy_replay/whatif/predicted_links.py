"""Links that open the timeline with the rows that a what-if predicts below the measured ones."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.links import page_link
from strategy_app.widgets.text import as_markdown


def show_predicted_links(
    opened: OpenRun, segment: int, texts: Mapping[str, str | None], caption: str = ""
) -> None:
    """Draw a link for each label; `texts` has the text of its edits, None if they have none."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if caption:
            st.caption(caption, width="content")
        for label, edit in texts.items():
            if edit is not None:
                run = opened.profile.path.name
                query = {"run": run, "segment": str(segment), "edit": edit}
                page_link("timeline", f"→ {as_markdown(label)}", query=query)
