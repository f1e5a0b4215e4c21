"""The page's frame: title, navigation, and the page that was asked for."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent

PAGES = (
    ("lab", "Lab"),
    ("timeline", "Timeline"),
    ("communication", "Communication"),
    ("placement", "Placement"),
    ("compare", "Compare"),
    ("runs", "Runs"),
)

# A file of ours: an icon by name would be fetched from outside.
st.set_page_config(page_title="Strategy Lab", page_icon=str(HERE / "icon.svg"), layout="wide")
st.navigation(
    [
        st.Page(HERE / "pages" / f"{name}.py", title=title, url_path=name, default=name == "lab")
        for name, title in PAGES
    ],
    position="top",
).run()
