"""The page's frame: title, navigation, and the requested page.

It is in a folder apart from the pages: beside a folder named `pages`, Streamlit would serve a deep
link without this frame.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from strategy_lab.app.server.state import lab
from strategy_lab.app.server.viewers import current_viewer

APP = Path(__file__).parents[1]

PAGES = (
    ("lab", "Lab"),
    ("overview", "Overview"),
    ("timeline", "Timeline"),
    ("communication", "Communication"),
    ("placement", "Placement"),
    ("cores", "TPU cores"),
    ("servers", "Servers"),
    ("contexts", "Contexts"),
    ("compare", "Compare"),
    ("runs", "Runs"),
)

# A file of ours: an icon by name would be fetched from outside.
st.set_page_config(page_title="Strategy Lab", page_icon=str(APP / "icon.svg"), layout="wide")
# Background and border mark the selected item: blue text alone is faint on a dark page.
st.html(
    "<style>[data-variant=segmented_control][data-selected=true], [data-testid=stTab]"
    "[aria-selected=true] {color:inherit !important; font-weight:600}</style>"
)
page = st.navigation(
    [
        st.Page(APP / "pages" / f"{name}.py", title=title, url_path=name, default=name == "lab")
        for name, title in PAGES
    ],
    position="top",
)
if page.url_path != "contexts":
    lab().recordings.leave(current_viewer())
page.run()
