"""The page's frame: title, navigation, and the requested page.

It is in a folder apart from the pages: beside a folder named `pages`, Streamlit would serve a deep
link without this frame.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from strategy_app.added_pages import added_pages, source_of
from strategy_app.widgets import html_table
from strategy_app.widgets.places import places, titles
from strategy_app.widgets.title import LAB, set_title

APP = Path(__file__).parents[1]

HOME = "lab"

STYLE = """
/* Background and border mark the selected item: blue text alone is faint on a dark page. */
[data-variant=segmented_control][data-selected=true], [data-testid=stTab][aria-selected=true]
  {color:inherit !important; font-weight:600}
/* Streamlit's own have contrasts of 4.39 and 3.39 in the light theme; 4.5 is legible. */
[data-testid=stCaptionContainer]
  {color:color-mix(in srgb, currentColor 75%, transparent) !important; opacity:1 !important}
[data-testid=stWidgetLabel], [data-testid=stWidgetLabel] p {color:inherit !important}
/* At 1280x720 the fields below the cards are in sight. */
[class*=st-key-place_] {padding:0.5rem !important}
[class*=st-key-place_] [data-testid=stMarkdownContainer] p {line-height:1.35}
.st-key-form h1 {padding:0 0 0.25rem}
/* So that the longest heading fits its column at 1280 px: else its fields begin lower. */
.st-key-form h2 {font-size:1.25rem; padding:0.25rem 0}
/* All that was chosen is in sight: Streamlit shows one line, and the rest on a drag. */
[data-testid=stMultiSelectTagsContainer]
  {flex-wrap:wrap !important; height:auto !important; mask-image:none !important}
[data-testid=stMultiSelectTagsContainer] [data-tag] {margin-block:3px}
:has(> [data-testid=stMultiSelectTagsContainer]), .react-aria-ComboBox
  {height:auto !important; max-height:none !important}
[data-testid=stSelectbox] input {text-overflow:ellipsis}
button kbd {color:inherit !important; opacity:1 !important}
:is(a, button, input, textarea, summary, [tabindex], [role=slider], [role=combobox]):focus-visible
  {outline:3px solid #D55E00 !important; outline-offset:2px !important}
/* A field's frame cuts the outline of its input off, so the frame has it. */
div:has(> :is(input:not([type=checkbox], [type=radio], [type=range]), textarea):focus-visible)
  {outline:3px solid #D55E00 !important; outline-offset:2px !important}
div > :is(input:not([type=checkbox], [type=radio], [type=range]), textarea):focus-visible
  {outline:none !important}
"""
"""What Streamlit's theme has no option for."""

# A file of ours: an icon by name would be fetched from outside.
st.set_page_config(page_title=LAB, page_icon=str(APP / "icon.svg"), layout="wide")
st.html(f"<style>{STYLE}{html_table.STYLE}</style>")
in_places = titles()
# The header leads to the first page of each place, and to added pages that are in none.
header = {place.entries[0].page: place.title for place in places()}
header |= {name: each.title for name, each in added_pages().items() if name not in in_places}
page = st.navigation(
    [
        st.Page(
            source_of(name),
            title=header.get(name, title),
            url_path=name,
            default=name == HOME,
            visibility="visible" if name in header else "hidden",
        )
        for name, title in (header | in_places).items()
    ],
    position="top",
)
set_title(in_places.get(page.url_path, page.title))
for name, each in added_pages().items():
    if each.leave and name != page.url_path:
        each.leave()
page.run()
