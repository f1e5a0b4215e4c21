"""Serves a page's static files early: each in one piece, later ones announced in a header.

Streamlit sends a file in pieces of 64 KB, each read by another thread, and a browser discovers a
module with the first element that it draws. A `Link` header on the page lets it load them before.
Streamlit's files are sent as they are. Into the head of its page go a script and a style of the
lab, which have to be there before anything is drawn.
"""

from __future__ import annotations

import re
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.file_util import get_static_dir

from strategy_app.added_pages import added_pages, addresses
from strategy_app.server.chart_library import ADDRESS, START_SCRIPT
from strategy_app.server.first_style import FIRST_STYLE
from strategy_app.server.lost_server import LOST_PAGE_SCRIPT, LOST_SERVER_SCRIPT, LOST_SERVER_STYLE

KINDS = {".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2"}
HEAD = ("Html", "PageLink", "Selectbox")
COMPONENT, TABLES = "BidiComponent", "DataFrame"
FIELDS = ("Button", "NumberInput", "TextInput")
HELP = "WidgetLabelHelpIconInline"
NEEDED = {
    "/": (*HEAD, *FIELDS, "ButtonGroup", "Checkbox", "Slider", COMPONENT),
    "/overview": (*HEAD, "Button", TABLES, COMPONENT),
    "/communication": (*HEAD, "ButtonGroup", "TextInput", TABLES, COMPONENT),
    "/placement": (*HEAD, "TextInput", "Multiselect", TABLES, COMPONENT),
    "/compare": (*HEAD, "Multiselect", "Button", HELP, "Checkbox", COMPONENT),
    "/runs": (
        *(*HEAD, *FIELDS, "Multiselect", TABLES),
        *("LinkButton", "DownloadButton", "ButtonGroup", HELP, "TextArea"),
    ),
    "/timeline": (*HEAD, COMPONENT),
    "/help": (*HEAD, *FIELDS),
}
"""Streamlit's modules that each page needs, by the page's path, in the order of need. Under a
Streamlit that names them differently, pages are slower, not wrong."""
_WITH_CHARTS = ("/overview", "/communication", "/placement", "/compare")

_ASSET = re.compile(r"/static/(?:js|css|media)/[\w.-]+")
_IMPORT = re.compile(r'(?:from|import)"\./([\w.-]+\.js)"')
_NAMED = re.compile(r'(?:src|href)="\./static/js/([\w.-]+\.js)"')
_CONDITIONS = ("range", "if-none-match", "if-modified-since")


# Streamlit's client otherwise looks for its server below the page's address first, where two
# requests are answered with 404, and only then beside it.
_BEGIN_SCRIPT = """
document.title = "Strategy Lab";
window.__streamlit = {BACKEND_BASE_URL: new URL(".", location).href};
"""
_HEAD = (
    f"<script>{_BEGIN_SCRIPT}{LOST_PAGE_SCRIPT}{LOST_SERVER_SCRIPT}</script>"
    f"<style>{FIRST_STYLE}{LOST_SERVER_STYLE}</style>"
)
"""What the lab adds to the head of Streamlit's page."""


class Assets:
    """ASGI middleware around Streamlit's app: answers for its pages and files."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._static = Path(get_static_dir())
        self._links = link_headers(self._static)
        self._with_charts = with_charts()
        self._index = index_page(self._static)
        self._paths = {"/", *(f"/{name}" for name in addresses())} - {"/lab"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        response = self._whole(path, Headers(scope=scope))
        if response is not None:
            await response(scope, receive, send)
            return
        if path in self._paths and self._index is not None:
            link = {"Link": self._links[path]} if path in self._links else {}
            text = self._index
            if path in self._with_charts:
                text = text.replace("</head>", f"{START_SCRIPT}</head>", 1)
            page = HTMLResponse(text, headers={"Cache-Control": "no-cache", **link})
            await page(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _whole(self, path: str, headers: Headers) -> Response | None:
        """Return a hashed file of Streamlit; None for other, partial or conditional requests."""
        kind = KINDS.get(Path(path).suffix)
        if kind is None or not _ASSET.fullmatch(path) or any(map(headers.get, _CONDITIONS)):
            return None
        try:
            body = (self._static / path.lstrip("/")).read_bytes()
        except OSError:
            return None  # Streamlit says what there is not
        # Its name holds its hash: what it names never changes.
        always = "public, immutable, max-age=31536000"
        return Response(body, media_type=kind, headers={"Cache-Control": always})


def index_page(static: Path) -> str | None:
    """Return Streamlit's page with the lab's head; None if Streamlit has none."""
    try:
        text = (static / "index.html").read_text(encoding="utf-8")
    except OSError:
        return None
    return text.replace("</head>", f"{_HEAD}</head>", 1)


def needed() -> dict[str, tuple[str, ...]]:
    """Return the modules that each page needs, those of packages too."""
    added = {f"/{name}": (*HEAD, *page.needs) for name, page in added_pages().items()}
    return NEEDED | added


def with_charts() -> set[str]:
    """Return the paths of the pages with charts, those of packages too."""
    return {*_WITH_CHARTS, *(f"/{name}" for name, page in added_pages().items() if page.has_charts)}


def link_headers(static: Path) -> dict[str, str]:
    """Return the `Link` header per path, with the modules that `index.html` does not name.

    A path without such modules has no entry.
    """
    modules = static / "static" / "js"
    try:
        named = set(_NAMED.findall((static / "index.html").read_text(encoding="utf-8")))
    except OSError:
        return {}
    headers = {}
    drawing = with_charts()
    for path, names in needed().items():
        followed: dict[str, None] = {}
        for name in names:
            for module in sorted(modules.glob(f"{name}.*.js")):
                _follow(module, named, followed)
        links = [f"<./static/js/{each}>; rel=modulepreload; fetchpriority=low" for each in followed]
        if path in drawing:
            links.append(f"<./{ADDRESS}>; rel=preload; as=script; fetchpriority=low")
        if links:
            headers[path] = ", ".join(links)
    return headers


def _follow(module: Path, named: set[str], followed: dict[str, None]) -> None:
    """Add `module` and what it imports, before it."""
    if module.name in named or module.name in followed or not module.is_file():
        return
    followed[module.name] = None
    for name in _IMPORT.findall(module.read_text(encoding="utf-8")):
        _follow(module.with_name(name), named, followed)
