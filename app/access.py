"""Who may use the lab's own routes: pages that the lab itself served, under its own name.

Streamlit checks its own connection only. Without this, any web page open in the same browser
could read the runs of a lab on loopback (cross-origin WebSocket, DNS rebinding).
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from strategy_lab.app import state
from strategy_lab.profiles.errors import LabError, RunFolderError

Handler = Callable[[Request], Awaitable[Response]]

_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})


def is_allowed(connection: HTTPConnection) -> bool:
    """Whether a request comes from the lab's own page, or from no page at all (curl, tests)."""
    host = connection.headers.get("host", "")
    name = host_name(host)
    if name is None:
        return False
    if state.lab().host in _LOOPBACK_NAMES and name not in _LOOPBACK_NAMES:
        return False
    origin = connection.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        return False
    return connection.headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def guarded(handler: Handler) -> Handler:
    """The handler for allowed requests; LabErrors become an answer: 404 for a run, else 400."""

    @functools.wraps(handler)
    async def answer(request: Request) -> Response:
        if not is_allowed(request):
            return JSONResponse({"error": "The lab answers only its own page."}, 403)
        try:
            return await handler(request)
        except RunFolderError as error:
            return JSONResponse({"error": str(error)}, 404)
        except LabError as error:
            return JSONResponse({"error": str(error)}, 400)

    return answer


def host_name(host: str) -> str | None:
    """The name in a Host header without its port; None where it is none."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
