"""Reloads a page that Streamlit's client has taken down: after a lost connection, it may go blank.

Streamlit's server keeps what it could not send while a browser was not connected, and sends it to
the browser when it is back, before the page's script runs again. What was sent into the lost
connection is missing, so the client is to put an element in a place whose siblings it does not
know: it throws, and React removes the whole page. A connection that is lost while a page opens is
enough. The page would stay blank until somebody reloads it.
"""

from __future__ import annotations

LOST_PAGE_SCRIPT = """
addEventListener("DOMContentLoaded", () => {
  const key = "strategy-lab-reloaded-at", pauseMs = 10000;
  const page = document.getElementById("root");
  let wasDrawn = false;
  new MutationObserver(() => {
    wasDrawn ||= page.childElementCount > 0;
    if (!wasDrawn || page.childElementCount > 0) return;
    // A fault that comes back with each load must not reload the page for ever.
    if (Date.now() - Number(sessionStorage.getItem(key)) < pauseMs) return;
    sessionStorage.setItem(key, Date.now());
    location.reload();
  }).observe(page, {childList: true});
});
"""
