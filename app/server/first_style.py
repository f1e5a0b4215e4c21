"""The style that a page has before Streamlit draws anything: nothing moves when its sidebar opens.

Streamlit draws the sidebar beside the page and moves the page aside. Here the sidebar lies above
the page, which leaves its width free. The form of a new run has no sidebar, but Streamlit keeps an
empty one beside it after a run, and opens the next run's before the form has gone: not shown there.
And every page is as wide as its window from the beginning, not once its script has asked for it.
"""

from __future__ import annotations

_WIDTH = "300px"
_FORM = ".stApp:has(.st-key-run_button)"
_OPEN = ".stApp:not(:has(.st-key-run_button)):has([data-testid=stSidebar] [aria-expanded=true])"
FIRST_STYLE = f"""
[data-testid=stMainBlockContainer] {{max-width:none !important}}
@media (min-width: 769px) {{
  [data-testid=stSidebar] {{position:absolute !important; height:100% !important; z-index:1000}}
  {_FORM} [data-testid=stSidebar] {{display:none}}
  [data-testid=stSidebarResizeHandle] {{display:none}}
  {_OPEN} [data-testid=stMainBlockContainer] {{padding-left:calc({_WIDTH} + 5rem) !important}}
  {_OPEN} [data-testid=stTopNav] {{padding-left:calc({_WIDTH} + 1rem) !important}}
}}
"""
