"""The library that draws charts: Plotly's, at an address of the lab.

It is the part of Plotly that Plotly offers for charts with two axes (plotly.js-cartesian-dist-min
of npm, unchanged): 1.5 MB of 4.8, so that it starts in a third of the time.
A browser would ask for it with the first chart, which the server sends after the first sentence had
time to appear (`widgets.chart`). A page with charts announces it in its header, and a script of the
page starts it once sentence, key numbers and findings are there and nothing has been added for a
moment.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_FILE = Path(__file__).parents[1] / "frontend" / "chart" / "plotly" / "plotly-cartesian.min.js"


@cache
def _library() -> bytes:
    return _FILE.read_bytes()


def _version() -> str:
    match = re.search(rb"v(\d+\.\d+\.\d+)", _library()[:200])
    return match[1].decode() if match else ""


ADDRESS = f"frontend/plotly-{_version()}.js"
"""Below the lab's address; the version is in it, so that a browser may keep the file for good."""
SENTENCE = ".lab-headline"
QUIET_MS = 50
"""So long nothing must be added: key numbers and findings come in several messages."""
START_SCRIPT = f"""<script>
(() => {{
  let timer = null;
  const added = new MutationObserver(() => {{
    clearTimeout(timer);
    if (document.querySelector("{SENTENCE}")) timer = setTimeout(start, {QUIET_MS});
  }});
  const start = () => {{
    added.disconnect();
    if (window.labPlotly) return;
    const script = window.labPlotly = document.createElement("script");
    script.src = "./{ADDRESS}";
    document.head.append(script);
  }};
  added.observe(document, {{childList: true, subtree: true}});
}})();
</script>"""
"""In the head of a page with charts."""


async def library(_request: Request) -> Response:
    """Plotly's JavaScript, whole."""
    headers = {"Cache-Control": "public, immutable, max-age=31536000"}
    return Response(_library(), media_type="text/javascript", headers=headers)


ROUTES = [Route(f"/{ADDRESS}", library)]
