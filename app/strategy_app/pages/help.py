"""Help: the keys, and what each word and figure means."""

from __future__ import annotations

import streamlit as st

from strategy_app.widgets.places import show_head
from strategy_app.widgets.text import as_html, as_markdown
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.glossary import TERMS

KEYS = (
    "Press **?** on Timeline or Steps: a dialog lists the keys of the page. The step film names "
    "its keys below the picture. On Learn the arrow keys, Home and End go from step to step; "
    "**f** is the lecture view. **Tab** and **Enter** reach every control."
)


def page() -> None:
    show_head("help")
    st.header("Keys")
    st.markdown(KEYS)
    st.header("Words and figures")
    _show_glossary()


def _show_glossary() -> None:
    words = list(TERMS.items())
    words += [
        (f"{item.label}, {item.unit}".strip(", "), item.text) for item in DEFINITIONS.values()
    ]
    sought = st.text_input("Find", key="search_glossary", placeholder="A word or a figure")
    hits = [item for item in words if sought.casefold() in " ".join(item).casefold()]
    if not hits:
        st.markdown(f"No word or figure matches {as_markdown(sought, 80)}.")
        return
    st.html(
        "<dl class='glossary'>"
        + "".join(f"<dt>{as_html(word)}</dt><dd>{as_html(meaning)}</dd>" for word, meaning in hits)
        + "</dl>"
    )


page()
