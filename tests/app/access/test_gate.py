"""The gate: which requests and WebSockets reach the app, and what every answer carries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from strategy_app.access.gate import CLOSE_NO_TOKEN, CLOSE_REFUSED, Gate
from strategy_app.access.policy import Access, cookie_name
from tests.app.asgi import Client

HOST = "localhost:8501"
LAB = Access(token="0123456789-0123456789")
COOKIE = {"cookie": f"{cookie_name(HOST)}={LAB.cookie_value(None)}"}
BEARER = {"authorization": f"Bearer {LAB.token}"}
TAB = {"accept": "text/html", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
FOREIGN = [
    {"origin": "https://elsewhere.example"},
    {"origin": "null"},
    {"origin": "http://localhost:9999"},
    {"origin": "http://localhost"},
    {"origin": "https://localhost:8501"},
    {"origin": "http://127.0.0.1:8501"},
    {"origin": "http://localhost:8501.elsewhere.example"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
]
NOT_OURS = [
    "rebound.example",
    "rebound.example:8501",
    "localhost",
    "localhost:9999",
    "localhost.:8501",
    "[::1",
    "",
    "192.0.2.7:8501",
    "user@localhost:8501",
    "localhost:8501, rebound.example",
]


async def _echo(request: Request) -> Response:
    return PlainTextResponse(request.url.query or "in", headers=dict(request.query_params))


async def _socket(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("in")
    await socket.close()


def client(access: Access = LAB, host: str = HOST, method: str = "GET") -> Client:
    routes = [
        Route("/healthz", _echo),
        Route("/{path:path}", _echo, methods=["GET", "POST"]),
        WebSocketRoute("/{path:path}", _socket),
    ]
    return Client(Gate(Starlette(routes=routes), access), host, method)


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/static/js/x.js", "/api/runs/one/spans"])
def test_every_path_asks_for_the_token(path: str) -> None:
    assert client().get(path).status == 401
    assert client().get(path, COOKIE).text == "in"
    assert client().get(path, BEARER).text == "in"
    assert client().get(path, {"authorization": f"token {LAB.token}"}).text == "in"


def test_only_the_health_check_answers_without_a_token() -> None:
    assert client().get("/healthz").text == "in"
    assert client(host="rebound.example").get("/healthz").status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {LAB.token}"},
        {"authorization": "Bearer ü"},
        {"cookie": f"{cookie_name(HOST)}={LAB.token}"},
        {"cookie": f"{cookie_name(HOST)}={LAB.cookie_value(65534)}"},
        {"cookie": f"{cookie_name('localhost:8502')}={LAB.cookie_value(None)}"},
        {"cookie": f"{cookie_name(HOST)}={Access(token='another').cookie_value(None)}"},
    ],
)
def test_a_wrong_token_is_refused(headers: dict[str, str]) -> None:
    assert client().get("/", headers).status == 401
    assert client().listen("/_stcore/stream", headers).closed == CLOSE_REFUSED


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("access", [LAB, replace(LAB, token=None)])
def test_a_page_of_another_origin_is_refused_even_with_the_cookie(
    headers: dict[str, str], access: Access
) -> None:
    assert client(access).get("/", COOKIE | headers).status == 403
    assert client(access).listen("/_stcore/stream", COOKIE | headers).closed == CLOSE_REFUSED
    assert client(access).listen("/api/runs/one/stream", COOKIE | headers).closed == CLOSE_REFUSED


@pytest.mark.parametrize("host", NOT_OURS)
@pytest.mark.parametrize("access", [LAB, replace(LAB, token=None)])
def test_a_host_that_is_not_the_lab_is_refused_even_with_the_token(
    host: str, access: Access
) -> None:
    same = {"origin": f"http://{host}"}
    for headers in (BEARER, BEARER | same):
        assert client(access, host).get("/", headers).status == 403
        assert client(access, host).listen("/_stcore/stream", headers).closed == CLOSE_REFUSED


def test_a_websocket_without_a_token_is_refused_and_the_lab_s_own_page_learns_why() -> None:
    ours = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
    assert client().listen("/_stcore/stream", ours).closed == CLOSE_REFUSED
    assert client().listen("/_stcore/stream").closed == CLOSE_REFUSED
    assert client().listen("/api/runs/one/stream", ours).closed == CLOSE_NO_TOKEN
    assert client().listen("/_stcore/stream", ours | COOKIE).text == "in"
    assert client().listen("/_stcore/stream", COOKIE).text == "in"


def test_the_address_with_the_token_sets_a_cookie_that_scripts_cannot_read() -> None:
    answer = client().get(f"/?run=one&token={LAB.token}", TAB | {"sec-fetch-site": "cross-site"})
    headers = answer.headers or {}
    cookie = headers["set-cookie"].lower()
    assert answer.status == 200
    assert cookie.startswith(f"strategy-lab-8501={LAB.cookie_value(None)};")
    assert {"httponly", "path=/", "samesite=strict"} <= set(cookie.split("; "))
    assert "domain" not in cookie
    assert str(LAB.token) not in answer.text + cookie
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"


def test_a_wrong_token_in_the_address_sets_no_cookie_and_is_not_repeated() -> None:
    answer = client().get("/?token=wrong&run=%3Cb%3E", TAB)
    assert answer.status == 401
    assert "set-cookie" not in (answer.headers or {})
    assert "wrong" not in answer.text
    assert 'value="&lt;b&gt;"' in answer.text
    assert "<b>" not in answer.text


def test_a_script_may_put_the_token_into_the_address_and_the_app_does_not_see_it() -> None:
    answer = client().get(f"/api/x?from=1&token={LAB.token}&to=2")
    assert answer.text == "from=1&to=2"
    logged = f"/_stcore/stream?token={LAB.token}"  # the server's log has a WebSocket's address
    assert client().listen(logged).closed == CLOSE_REFUSED
    assert client().get(f"/api/x?%74oken={LAB.token}").text == "in"


def test_a_link_on_another_site_is_asked_again_from_the_lab_s_own_page() -> None:
    """The browser keeps a SameSite=Strict cookie back at first."""
    first = client().get("/?run=one", TAB | {"sec-fetch-site": "cross-site"})
    assert first.status == 200
    assert "location.replace" in first.text
    again = client().get("/?run=one", TAB | {"sec-fetch-site": "same-origin"})
    assert again.status == 401
    assert client().get("/?run=one", TAB | COOKIE | {"sec-fetch-site": "same-origin"}).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_another_site_changes_nothing_by_a_form(method: str) -> None:
    for headers in ({"origin": "http://localhost:9999"}, {"sec-fetch-site": "cross-site"}):
        answer = client(method=method).get("/", TAB | COOKIE | headers)
        assert answer.status == 403
        assert not any(name.startswith("access-control") for name in answer.headers or {})


@pytest.mark.parametrize("headers", [{}, COOKIE, TAB, {"host": "rebound.example"}])
def test_every_answer_forbids_framing_sniffing_and_telling_the_address(
    headers: dict[str, str],
) -> None:
    found = client().get("/", headers).headers or {}
    assert "frame-ancestors 'none'" in found["content-security-policy"]
    assert found["x-frame-options"] == "DENY"
    assert found["x-content-type-options"] == "nosniff"
    assert found["referrer-policy"] in ("same-origin", "no-referrer")


def test_a_stricter_policy_of_an_answer_is_kept() -> None:
    found = client().get("/?content-security-policy=sandbox", COOKIE).headers or {}
    assert found["content-security-policy"] == "sandbox; frame-ancestors 'none'"


def test_an_error_of_the_app_has_the_headers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `strategy_app.server.asgi_app` builds it: the gate is outside of what answers for an
    error."""
    from strategy_app.server import asgi_app

    app = asgi_app.create_app(LAB)

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await Response("broken", 500)(scope, receive, send)

    monkeypatch.setattr(app, "_starlette_app", broken)
    monkeypatch.setattr(app, "_runtime", None)
    assert Client(app).get("/", COOKIE).headers["x-frame-options"] == "DENY"  # type: ignore[index]
    assert Client(app).get("/").status == 401


def test_behind_a_proxy_that_speaks_https_the_cookie_is_sent_by_https_alone() -> None:
    for proxy_headers, is_secure in (({"x-forwarded-proto": "https"}, True), ({}, False)):
        answer = client().get(f"/?token={LAB.token}", TAB | proxy_headers)
        cookie = (answer.headers or {})["set-cookie"].lower()
        assert ("secure" in cookie.split("; ")) is is_secure
