"""Help: the keys, what each word and figure means, and what this installation has and lacks."""

from __future__ import annotations

import streamlit as st

from strategy_app.server import state
from strategy_app.widgets.places import show_head
from strategy_app.widgets.table import show_table, text
from strategy_app.widgets.text import as_html, as_markdown
from strategy_core.doctor.check import Check
from strategy_core.doctor.report import examine
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.glossary import TERMS

KEYS = (
    "Press **?** on Timeline or Steps: a dialog lists the keys of the page. The step film names "
    "its keys below the picture. In Contexts the arrow keys, Home and End go from step to step; "
    "**f** is the lecture view. **Tab** and **Enter** reach every control."
)
_CHECKS = "installation_checks"


def page() -> None:
    show_head("help")
    st.header("Keys")
    st.markdown(KEYS)
    st.header("This installation")
    _show_installation()
    st.header("Words and figures")
    _show_glossary()


def _show_installation() -> None:
    """TensorFlow, GPUs, limits and optional packages, each with what its lack costs."""
    if st.button("Check this installation", key="check_installation"):
        with st.spinner("Importing TensorFlow in a process of its own …"):
            st.session_state[_CHECKS] = list(examine(state.lab().runs))
    checks: list[Check] | None = st.session_state.get(_CHECKS)
    if checks is None:
        st.caption("The same as `strategy-lab doctor`. It takes some seconds.")
        return
    show_table(
        "installation",
        sorted(checks, key=lambda check: ("broken", "missing", "ok").index(check.state)),
        {
            "title": text("What", lambda check: check.title),
            "state": text("State", lambda check: check.state),
            "found": text("Found", lambda check: check.found, width="large"),
            "costs": text("Does not work without it", lambda check: check.costs),
            "advice": text("What to do", lambda check: check.advice, width="large"),
        },
    )


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
