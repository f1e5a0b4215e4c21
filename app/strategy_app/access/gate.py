"""The outermost layer of the server: every request and WebSocket passes it, Streamlit's included.

1. Refuse a Host that is not the lab's own (DNS rebinding), then an Origin that is not, then every
   request that, by the browser's headers, another site or port caused, except a followed link.
2. Require the token, from the cookie, the Authorization header, or `?token=` in the address.
3. Add headers to every response that forbid framing, content sniffing and sending the address on.

Streamlit's own Origin check is not enough: it ignores the port, and lets a missing Origin pass.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from strategy_app.access import pages
from strategy_app.access.peer import uid_of
from strategy_app.access.policy import Access, cookie_name

HEALTH = "/healthz"
"""Health check for containers and load balancers, which have no token. Answers `ok` alone."""
CLOSE_REFUSED = 4403
"""WebSocket close code. Sent before the connection is accepted, the client sees HTTP 403."""
CLOSE_NO_TOKEN = 4401

_NO_FRAMES = "frame-ancestors 'none'"
_HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Decision(enum.Enum):
    """Whether a request is answered, and if not, how it is refused."""

    PASS = enum.auto()
    ENTER = enum.auto()
    """The address has the right token: set the cookie, go on without the token."""
    AGAIN = enum.auto()
    """A link on another site: the browser kept the cookie back. Ask again from our own page."""
    FOREIGN_HOST = enum.auto()
    FOREIGN_PAGE = enum.auto()
    NO_TOKEN = enum.auto()
    WRONG_TOKEN = enum.auto()


class Gate:
    """ASGI middleware. Calls `entered` when a user has opened the address with the token."""

    def __init__(
        self, app: ASGIApp, access: Access, entered: Callable[[], object] = lambda: None
    ) -> None:
        self._app = app
        self._access = access
        self._entered = entered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        decision = authorize(connection, self._access)
        if scope["type"] == "websocket":
            await self._websocket(decision, scope, receive, send)
            return
        send = partial(_send_hardened, send)
        if decision is Decision.PASS:
            await self._app(_without_token(scope), receive, send)
            return
        if decision is Decision.ENTER:
            self._entered()
        answer = _answer(decision, connection, self._access)
        await answer(scope, receive, send)

    async def _websocket(
        self, decision: Decision, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if decision is Decision.PASS:
            await self._app(_without_token(scope), receive, send)
            return
        await receive()  # websocket.connect
        has_no_access = decision in (Decision.NO_TOKEN, Decision.WRONG_TOKEN)
        if has_no_access and scope["path"].startswith("/api/"):
            # A page of the lab whose server was restarted: with a code it can say so. Of a
            # handshake that is refused, a browser tells its page nothing.
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": CLOSE_NO_TOKEN})
        else:
            await send({"type": "websocket.close", "code": CLOSE_REFUSED})


def authorize(connection: HTTPConnection, access: Access) -> Decision:
    """Decide about a request or WebSocket by its headers and address alone."""
    headers = connection.headers
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    local_address = (connection.scope.get("server") or [None])[0]
    if len(hosts) != 1 or not access.is_own_host(hosts[0], local_address):
        return Decision.FOREIGN_HOST
    secure = connection.scope.get("scheme") in ("https", "wss")
    if not all(access.is_own_origin(origin, hosts[0], secure=secure) for origin in origins):
        return Decision.FOREIGN_PAGE
    foreign = not set(headers.getlist("sec-fetch-site")) <= {"none", "same-origin"}
    if foreign and not _is_visit(connection):
        return Decision.FOREIGN_PAGE
    if connection.scope["path"] == HEALTH:
        return Decision.PASS
    return _check_token(connection, access, hosts[0], foreign=foreign)


def _check_token(
    connection: HTTPConnection, access: Access, host: str, *, foreign: bool
) -> Decision:
    # Not for a WebSocket: the server's log has its whole address.
    is_http = connection.scope["type"] == "http"
    in_address = connection.query_params.getlist("token") if is_http else []
    is_visit = _is_visit(connection)
    if access.token is None:
        return Decision.ENTER if in_address and is_visit else Decision.PASS
    in_cookie = connection.cookies.get(cookie_name(host), "")
    is_known = bool(in_cookie) and access.is_cookie(in_cookie, _peer(connection))
    if is_known or _is_right_header(connection, access):
        return Decision.ENTER if in_address and is_visit else Decision.PASS
    if len(in_address) == 1 and access.is_token(in_address[0]):
        return Decision.ENTER if is_visit else Decision.PASS
    if in_address or in_cookie or "authorization" in connection.headers:
        return Decision.WRONG_TOKEN
    return Decision.AGAIN if foreign else Decision.NO_TOKEN


def _is_right_header(connection: HTTPConnection, access: Access) -> bool:
    kind, _, given = connection.headers.get("authorization", "").partition(" ")
    return kind.lower() in ("bearer", "token") and access.is_token(given.strip())


def _peer(connection: HTTPConnection) -> int | None:
    client, server = connection.client, connection.scope.get("server")
    return uid_of(client and (client.host, client.port), server)


def _is_by_https(connection: HTTPConnection) -> bool:
    """Whether the browser asked by https, of the lab or of a proxy in front of it.

    Anyone can send the proxy's header: it may only restrict what the sender itself gets.
    """
    forwarded = connection.headers.get("x-forwarded-proto", "")
    return "https" in (connection.url.scheme, forwarded.strip().lower())


def _is_visit(connection: HTTPConnection) -> bool:
    """Whether a browser asks for a page of its own (a tab, not a frame), as a person does."""
    if connection.scope["type"] != "http" or connection.scope["method"] != "GET":
        return False
    headers = connection.headers
    mode = headers.get("sec-fetch-mode")
    if mode is None:  # not sent by old browsers, nor to an address that is neither https nor local
        return "text/html" in headers.get("accept", "")
    return mode == "navigate" and headers.get("sec-fetch-dest") == "document"


def _answer(decision: Decision, connection: HTTPConnection, access: Access) -> ASGIApp:
    host = connection.headers.get("host", "")
    wants_page = "text/html" in connection.headers.get("accept", "")
    match decision:
        case Decision.ENTER:
            answer = pages.enter()
            given = connection.query_params.get("token", "")
            if access.is_token(given):
                answer.set_cookie(
                    cookie_name(host),
                    access.cookie_value(_peer(connection)),
                    path="/",
                    httponly=True,
                    samesite="strict",
                    secure=_is_by_https(connection),
                )
            return answer
        case Decision.AGAIN:
            return pages.enter()
        case Decision.FOREIGN_HOST:
            return pages.foreign_host(host, access, page=wants_page)
        case Decision.FOREIGN_PAGE:
            return pages.foreign_page(page=wants_page)
        case _:
            is_wrong = decision is Decision.WRONG_TOKEN
            return pages.no_token(connection, is_wrong=is_wrong, page=wants_page)


def _without_token(scope: Scope) -> Scope:
    """The request without the token in its address, which the app has no use for."""
    query = scope.get("query_string", b"")
    parts = query.split(b"&")
    kept = [part for part in parts if _name(part) != "token"]
    return scope if len(kept) == len(parts) else {**scope, "query_string": b"&".join(kept)}


def _name(part: bytes) -> str:
    pairs = parse_qsl(part.decode("latin-1"), keep_blank_values=True)
    return pairs[0][0] if pairs else ""


async def _send_hardened(send: Send, message: Message) -> None:
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        policy = headers.get("content-security-policy")
        if policy is None and headers.get("content-type", "").startswith("text/html"):
            # A page that opened the lab in a window may not steer that window afterwards. Not for
            # the report: its sandbox and this header exclude each other.
            headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers["Content-Security-Policy"] = f"{policy}; {_NO_FRAMES}" if policy else _NO_FRAMES
    await send(message)
