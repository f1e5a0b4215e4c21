"""The attacks, each a function that raises AssertionError where it gets through.

What a browser would send for a page of the attacker's is sent here as it is on the wire, the
lab's cookie included where a browser sends it. The same in Chromium: tests/e2e/
test_access_in_browser.py.
"""

from __future__ import annotations

import os
import pwd
import re
import resource
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from multiprocessing import get_context
from pathlib import Path

from starlette.routing import Route, WebSocketRoute

from strategy_app.access.gate import HEALTH
from strategy_app.access.policy import Access, cookie_name
from strategy_app.server.routes import build_routes
from tests.attacks.victim import ANSWER_WITHIN_S, RUN, Answer, Victim

PAGES = ("/", "/overview?run=" + RUN, "/contexts", "/runs")
_OWN = [route for route in build_routes() if route.path != HEALTH]
ROUTES = (
    *(
        route.path.format(run=RUN, command="run", format="film")
        for route in _OWN
        if isinstance(route, Route)
    ),
    "/_stcore/health",
    "/_stcore/host-config",
    "/_stcore/metrics",
    "/static/index.html",
    "/media/x",
)
"""Every route of the lab, and those of Streamlit. `/healthz` alone is open."""
SOCKETS = (
    "/_stcore/stream",
    *(route.path.format(run=RUN) for route in _OWN if isinstance(route, WebSocketRoute)),
)
_MANY_CONNECTIONS = 1100
"""Most shells allow their programs 1,024 open files."""
_NOBODY = "nobody"  # a user of the system without rights


def framing(lab: Victim) -> None:
    """A foreign page shows the lab in a frame, to have the person click through it."""
    frame = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    for target in (*PAGES, *ROUTES):
        lab_answer = lab.ask(target, lab.cookie)
        assert "frame-ancestors 'none'" in lab_answer.headers["content-security-policy"], target
        assert lab_answer.headers["x-frame-options"] == "DENY", target
        refuse(lab.ask(target, lab.cookie | frame | {"Sec-Fetch-Dest": "iframe"}), 403)


def cross_site_requests(lab: Victim) -> None:
    """A foreign page, or one of another port, sends forms, images and fetches with the cookie."""
    origins = ("https://evil.example", "http://127.0.0.1:9", "http://localhost:9", "null")
    for target in (*PAGES, *ROUTES):
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
            for origin in origins:
                answer = lab.ask(target, lab.cookie | {"Origin": origin}, method=method)
                refuse(answer, 403)
                assert "access-control-allow-origin" not in answer.headers
        for site in ("cross-site", "same-site"):
            image = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
            refuse(lab.ask(target, lab.cookie | image), 403)


def cross_port_websockets(lab: Victim) -> None:
    """A page of another port of 127.0.0.1 connects; a browser sends the lab's cookie to it."""
    for path in SOCKETS:
        for origin in ("http://127.0.0.1:9", "http://localhost:9", "https://evil.example", "null"):
            outcome = lab.listen(path, lab.cookie | {"Origin": origin})
            assert outcome == "HTTP 403", f"{path} {origin}: {outcome}"


def no_origin_and_no_token(lab: Victim) -> None:
    """A program of this machine sends no Origin, which a browser's rules let pass."""
    for target in (*PAGES, *ROUTES):
        refuse(lab.ask(target), 401)
    for path in SOCKETS:
        for origin in ("", f"http://{lab.host}"):
            outcome = lab.listen(path, {"Origin": origin})
            assert outcome in ("HTTP 403", "closed 4401"), f"{path}: {outcome}"


def dns_rebinding(lab: Victim) -> None:
    """The attacker's own name is made to point at 127.0.0.1: Host and Origin agree."""
    for name in (f"evil.example:{lab.port}", "evil.example", f"127.0.0.1.evil.example:{lab.port}"):
        same = {"Host": name, "Origin": f"http://{name}", "Sec-Fetch-Site": "same-origin"}
        for target in (*PAGES, *ROUTES, "/healthz"):
            refuse(lab.ask(target, lab.cookie | same), 403)
        for path in SOCKETS:
            assert lab.listen(path, lab.cookie | same) == "HTTP 403"


def wrong_tokens(lab: Victim) -> None:
    """A token of another launch, part of the token, an empty one, the cookie of another port."""
    token = str(lab.token)
    for wrong in ("x", token[:-1], token + "x", token.swapcase(), "", "%00", "%C3%A9"):
        refuse(lab.ask(f"/?token={wrong}"), 401)
        refuse(lab.ask("/", {"Authorization": f"Bearer {wrong}"}), 401)
        refuse(lab.ask("/", {"Cookie": f"strategy-lab-{lab.port}={wrong}"}), 401)
    value = lab.cookie["Cookie"].partition("=")[2]
    refuse(lab.ask("/", {"Cookie": f"strategy-lab-{lab.port + 1}={value}"}), 401)
    refuse(lab.ask("/", {"Cookie": f"strategy-lab-{lab.port}={token}"}), 401)


def token_in_the_address(lab: Victim) -> None:
    """The token is looked for in a Referer, in a cookie that scripts read, and in answers."""
    visit = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    entered = lab.ask(f"/?run={RUN}&token={lab.token}", visit | {"Sec-Fetch-Site": "cross-site"})
    assert entered.status == 200
    assert entered.headers["referrer-policy"] == "no-referrer"
    assert entered.headers["cache-control"] == "no-store"
    cookie = entered.headers["set-cookie"]
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= attributes, cookie
    assert not any(part.startswith("domain") for part in attributes), cookie
    assert f"strategy-lab-{lab.port}=" in cookie
    assert str(lab.token) not in cookie
    assert str(lab.token).encode() not in entered.body
    for target in (*PAGES, *ROUTES):
        policy = lab.ask(target, lab.cookie).headers["referrer-policy"]
        assert policy in ("same-origin", "no-referrer"), target
    followed = lab.ask(f"//evil.example/?token={lab.token}", visit)
    assert "location" not in followed.headers


def path_traversal(lab: Victim) -> None:
    """A user of the lab sends names that lead out of the runs folder."""
    secret = lab.runs.parent / "secret"
    secret.mkdir(exist_ok=True)
    (secret / "run.json").write_text('{"secret": "of-the-owner"}')
    names = ("../secret", "..%2fsecret", "%2e%2e%2fsecret", "..%5csecret", "..%252fsecret")
    for name in (*names, "%2e%2e", ".", "%00", "/etc/passwd", "%2fetc%2fpasswd"):
        for route in ("/api/runs/{}/timeline", "/report/{}", "/static/{}", "/media/{}"):
            answer = lab.ask(route.format(name), lab.cookie)
            assert b"of-the-owner" not in answer.body, route.format(name)
            assert b"root:" not in answer.body, route.format(name)
            assert answer.status < 500, route.format(name)


def another_user(lab: Victim) -> None:
    """Another user looks for the token, connects without it, and with a cookie that came to them.

    The owner's browser sends the lab's cookie to every port of 127.0.0.1, theirs included. Headers
    of proxies name a connection of the owner's; /proc/net/tcp shows its port to every user.

    Needs root, to become that user.
    """
    if os.getuid() != 0:
        print("  (not tried: becoming another user needs root)")
        return
    context = get_context("fork")
    mine, theirs = context.Pipe()
    with socket.create_connection(("127.0.0.1", lab.port)) as of_the_owner:
        port = of_the_owner.getsockname()[1]
        child = context.Process(target=_as_nobody, args=(lab, port, theirs))
        child.start()
        leaks = mine.recv() if mine.poll(60) else ["the other user's program gave no answer"]
        child.join(60)
    assert leaks == [], leaks


def cookie_of_another_user(lab: Victim) -> None:
    """A cookie that is not for this user, with headers that name a client on another machine.

    The lab knows no user of such a client. Becoming another user needs no rights here.
    """
    theirs = Access(token=lab.token).cookie_value(None)
    stolen = {"Cookie": f"{cookie_name(lab.host)}={theirs}"}
    for headers in (stolen, *(stolen | named for named in _as_a_proxy("198.51.100.7:9"))):
        for target in (*PAGES, *ROUTES):
            refuse(lab.ask(target, headers), 401)
        for path in SOCKETS:
            assert lab.listen(path, headers) in ("HTTP 401", "HTTP 403", "closed 4401"), path


def _as_nobody(lab: Victim, owner_port: int, answer: object) -> None:
    leaks: list[str] = []
    stolen = lab.cookie
    try:
        user = pwd.getpwnam(_NOBODY)
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        leaks = _search(lab, stolen, owner_port)
    except BaseException as error:  # the parent fails with it
        leaks = [repr(error)]
    finally:
        answer.send(leaks)  # type: ignore[attr-defined]
        os._exit(0)


def _search(lab: Victim, stolen: dict[str, str], owner_port: int) -> list[str]:
    """What another user finds: nothing, where all is well."""
    token = str(lab.token).encode()
    leaking_files = [
        path
        for process in Path("/proc").glob("[0-9]*")
        for path in (process / "cmdline", process / "environ")
        if token in _bytes(path)
    ]
    own = [Path("/proc", str(lab.pid), name) for name in ("mem", "fd", "environ", "cwd")]
    readable = [path for path in own if os.access(path, os.R_OK)]
    tries = [
        {},
        stolen,
        stolen | {"Origin": f"http://{lab.host}"},
        *(stolen | headers for headers in _as_a_proxy(f"127.0.0.1:{owner_port}")),
    ]
    answering = [
        target
        for target in (*PAGES, *ROUTES)
        if any(lab.ask(target, headers).status != 401 for headers in tries)
    ]
    listening = [
        path for path in SOCKETS if any(lab.listen(path, headers) == "open" for headers in tries)
    ]
    return [
        *(f"the token is in {path}" for path in leaking_files),
        *(f"{path} can be read" for path in readable),
        *(f"{target} answers without the token" for target in answering),
        *(f"{path} is open without the token" for path in listening),
    ]


def _as_a_proxy(client: str) -> Iterator[dict[str, str]]:
    """The headers by which proxies say whose request they pass on."""
    yield {"X-Forwarded-For": client, "X-Forwarded-Proto": "http", "X-Real-IP": client}
    yield {"X-Forwarded-For": f"{client}, 127.0.0.1"}
    yield {"X-Forwarded-For": f"198.51.100.7, {client}"}
    yield {"Forwarded": f'for="{client}"', "X-Client-IP": client, "True-Client-IP": client}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def refuse(answer: Answer, status: int) -> None:
    assert answer.status == status, answer
    assert b"<title>Streamlit" not in answer.body


def every_address(lab: Victim) -> None:
    """A lab on 0.0.0.0: only with its token, and under the addresses that are its own."""
    assert "Anyone with the token can run code as you" in lab.printed, lab.printed
    own = [f"127.0.0.1:{lab.port}", f"localhost:{lab.port}"]
    for name in own:
        refuse(lab.ask("/", {"Host": name}), 401)
        assert lab.ask("/", {"Host": name, "Authorization": f"Bearer {lab.token}"}).status == 200
    for name in (f"evil.example:{lab.port}", f"198.51.100.7:{lab.port}", "127.0.0.1:9"):
        refuse(lab.ask("/", {"Host": name, "Authorization": f"Bearer {lab.token}"}), 403)


def every_address_without_a_token(lab: Victim) -> None:
    """--host 0.0.0.0 --no-token: the lab is open, but to no foreign page and no foreign name."""
    assert "No token (--no-token): every machine that reaches this port" in lab.printed, lab.printed
    assert lab.ask("/").status == 200
    refuse(lab.ask("/", {"Host": f"evil.example:{lab.port}"}), 403)
    refuse(lab.ask("/", {"Origin": "http://127.0.0.1:9"}), 403)
    for path in SOCKETS:
        assert lab.listen(path, {"Origin": "http://127.0.0.1:9"}) == "HTTP 403"


def odd_requests(lab: Victim) -> None:
    """Methods and addresses that no browser sends, as a way around the token."""
    methods = ("TRACE", "CONNECT", "OPTIONS", "HEAD", "PUT", "PROPFIND", "get", "A" * 5000)
    for method in methods:
        refuse(lab.ask("/", method=method), 401)
    for target in (
        f"http://evil.example{HEALTH}",
        f"/{HEALTH}",
        f"{HEALTH}/",
        f"{HEALTH};/",
        f"{HEALTH}/../api/runs/{RUN}/timeline",
        f"{HEALTH}%2f..%2fapi%2fruns",
        HEALTH.upper(),
        f"/api/runs/{RUN}/timeline#{HEALTH}",
        f"/api/runs/{RUN}/timeline?path={HEALTH}",
        "*",
        "/%zz",
    ):
        refuse(lab.ask(target), 401)


def smuggled_requests(lab: Victim) -> None:
    """A request hides in the body of another one, or the token in what continues a header."""
    own = f"Host: {lab.host}\r\n"
    inner = f"GET /api/runs/{RUN}/timeline HTTP/1.1\r\n{own}Connection: close\r\n\r\n"
    chunked = "Transfer-Encoding: chunked\r\n"
    token = f"Bearer {lab.token}"
    for head, body, status in (
        (f"POST {HEALTH}", f"{own}Content-Length: 5\r\nContent-Length: 9\r\n\r\nhello", 400),
        (f"POST {HEALTH}", f"{own}Content-Length: 4\r\n{chunked}\r\n0\r\n\r\n{inner}", 405),
        (f"POST {HEALTH}", f"{own}{chunked}Transfer-Encoding: x\r\n\r\n0\r\n\r\n{inner}", 400),
        (f"POST {HEALTH}", f"{own}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n{inner}", 400),
        ("GET /", f"{own}Authorization : {token}\r\n\r\n", 400),
        ("GET /", f"{own}X: a\r\n Authorization: {token}\r\nConnection: close\r\n\r\n", 401),
        ("GET /", f"{own}{own}Authorization: {token}\r\n\r\n", 400),
    ):
        answers = _raw(lab, f"{head} HTTP/1.1\r\n{body}")
        assert answers[:1] == [status], f"{body[:200]!r}: {answers}"
        assert set(answers[1:]) <= {400, 401}, f"{body[:200]!r}: {answers}"
    for large in (f"X: {'x' * 1_000_000}\r\n", "X: x\r\n" * 100_000):
        answers = _raw(lab, f"GET / HTTP/1.1\r\n{own}Authorization: {token}\r\n{large}\r\n")
        assert answers in ([400], []), answers  # it may close before the answer is read


def _raw(lab: Victim, text: str) -> list[int]:
    """The status of each answer to these bytes; a server that refuses may close before the end."""
    data = b""
    with socket.create_connection(("127.0.0.1", lab.port), ANSWER_WITHIN_S) as connection:
        with suppress(OSError):
            connection.sendall(text.encode())
        with suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
            while received := connection.recv(65536):
                data += received
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]


def requests_without_an_end(lab: Victim) -> None:
    """A program without the token holds more connections than a process usually may have."""
    before = soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * _MANY_CONNECTIONS:
        print(f"  (not tried: this user may open {hard} files at most)")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * _MANY_CONNECTIONS), hard))
    with ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        for _ in range(_MANY_CONNECTIONS):
            connection = socket.create_connection(("127.0.0.1", lab.port), ANSWER_WITHIN_S)
            held.enter_context(connection).sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert lab.ask(HEALTH).status == 200
        refuse(lab.ask("/"), 401)


def answered(room: Victim, target: str, headers: dict[str, str]) -> int | None:
    """The status of an answer; None if the connection is refused or cut."""
    try:
        return room.ask(target, headers).status
    except OSError:
        return None


Attack = Callable[[Victim], None]
BY_USER: tuple[Attack, ...] = (
    (another_user, cookie_of_another_user) if sys.platform == "linux" else ()
)
ON_LOOPBACK: tuple[Attack, ...] = (
    framing,
    cross_site_requests,
    cross_port_websockets,
    no_origin_and_no_token,
    dns_rebinding,
    wrong_tokens,
    token_in_the_address,
    path_traversal,
    odd_requests,
    smuggled_requests,
    requests_without_an_end,
    *BY_USER,
)
EVERYWHERE: tuple[Attack, ...] = (every_address, *ON_LOOPBACK)
WITHOUT_TOKEN: tuple[Attack, ...] = (
    framing,
    cross_site_requests,
    cross_port_websockets,
    dns_rebinding,
    path_traversal,
    every_address_without_a_token,
)
