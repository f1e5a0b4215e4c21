"""The web server: routes, Streamlit's app, caches, and what the process holds.

Nothing here draws a page.
"""
