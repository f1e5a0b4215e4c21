"""What an open page says when its server has ended: in the lab's words, over every page.

Streamlit's client asks "Are you connected to the internet?" in a dialog, or shows the JSON by which
a server that was started again refuses the page's old token. While there is something of the lab's
to read, that dialog is hidden. Each page holds a connection of its own for this, which is idle.
"""

from __future__ import annotations

import json

from starlette.websockets import WebSocket

from strategy_app.access.gate import CLOSE_NO_TOKEN

# Streamlit's server keeps what it could not send while a browser was not connected, and sends it to
# the browser when it is back, before the page's script runs again. What was sent into the lost
# connection is missing, so the client is to put an element in a place whose siblings it does not
# know: it throws, and React removes the whole page. A connection that is lost while a page opens is
# enough. The page would stay blank until somebody reloads it.
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
"""Reloads a page that Streamlit's client has taken down."""

HERE = "/api/here"
_AGAIN = (
    "Start it again with strategy-lab (or make run), and open the address that it prints. "
    "What was recorded is kept."
)
STOPPED = f"The lab’s server was stopped. {_AGAIN}"
SILENT = (
    "The lab’s server does not answer: it was stopped, or this page has lost its connection. "
    f"If it was stopped: {_AGAIN[0].lower()}{_AGAIN[1:]}"
)
RESTARTED = (
    "The lab’s server was started again, and this page is not let in any more. Open the address "
    "that it printed in its terminal. What was recorded is kept."
)
_CLOSE_RESTART = 1012
"""With which the server closes its connections when it ends in order."""

LOST_SERVER_STYLE = """
.lab-lost-server {position:fixed; inset:0 0 auto 0; z-index:2000000; padding:0.75rem 1.25rem;
  background:#7a2e0e; color:#fff; font:600 1rem/1.45 "Source Sans", system-ui, sans-serif;
  text-align:center; box-shadow:0 2px 8px rgb(0 0 0 / 35%)}
[data-lab-lost-server] [data-testid=stDialog]:not(:has(form, .stElementContainer)),
[data-lab-lost-server] [data-testid=stStatusWidget] {display:none !important}
"""
"""Dialogs of the lab, which hold elements, stay."""

LOST_SERVER_SCRIPT = f"""
(() => {{
  const words = {json.dumps({_CLOSE_RESTART: STOPPED, CLOSE_NO_TOKEN: RESTARTED})};
  const box = document.createElement("div");
  box.className = "lab-lost-server";
  box.setAttribute("role", "alert");
  box.dataset.reactAriaTopLayer = "true"; // else a dialog hides it from screen readers
  let failures = 0, said = "", isLeaving = false;
  const say = (text) => {{
    if (text === said) return;
    said = text;
    document.documentElement.toggleAttribute("data-lab-lost-server", text !== "");
    if (text) document.body.append(box);
    else box.remove();
    box.textContent = text;
  }};
  const connect = () => {{
    const url = new URL("{HERE[1:]}", document.baseURI);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    socket.onmessage = () => {{
      failures = 0;
      say("");
    }};
    socket.onclose = ({{ code }}) => {{
      if (isLeaving) return;
      const isShort = failures === 0 && !said; // a connection may be lost for a moment
      if (words[code]) say(words[code]);
      else if (!isShort && said !== words[{_CLOSE_RESTART}]) say({json.dumps(SILENT)});
      failures += 1;
      setTimeout(connect, Math.min(4000, 250 * 2 ** failures));
    }};
  }};
  addEventListener("pagehide", () => {{ isLeaving = true; }});
  addEventListener("DOMContentLoaded", connect);
}})();
"""


async def presence(socket: WebSocket) -> None:
    """`/api/here`: says that the server is there, and is open while it is."""
    await socket.accept()
    await socket.send_text("here")
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
