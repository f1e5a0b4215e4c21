"""Reloads a page that Streamlit's client has taken down: after a lost connection, it may go blank.

Streamlit's server keeps what it could not send while a browser was not connected, and sends it to
the browser when it is back, before the page's script runs again. What was sent into the lost
connection is missing, so the client is to put an element in a place whose siblings it does not
know: it throws, and React removes the whole page. A connection that is lost while a page opens is
enough. The page would stay blank until somebody reloads it.
"""

from __future__ import annotations

THROWN = ("Bad delta path", "Cannot set a node at a delta path")
"""What the client says when an element has no place."""

LOST_PAGE_SCRIPT = f"""
(() => {{
  const key = "strategy-lab-reloaded-at", pauseMs = 10000;
  const reload = (thrown) => {{
    if (!{list(THROWN)}.some((words) => String(thrown).includes(words))) return;
    // A fault that comes back with each load must not reload the page for ever.
    if (Date.now() - Number(sessionStorage.getItem(key)) < pauseMs) return;
    sessionStorage.setItem(key, Date.now());
    location.reload();
  }};
  addEventListener("error", (event) => reload(event.message));
  addEventListener("unhandledrejection", (event) => reload(event.reason));
}})();
"""
