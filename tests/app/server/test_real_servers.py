"""Real servers: one that listens on IPv6, and open WebSockets of one that got another token."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from strategy_app.access.gate import CLOSE_NO_TOKEN
from strategy_app.access.policy import Access, cookie_name
from strategy_app.server.asgi_app import free_port
from strategy_core.processes.running_labs import TOKEN_VARIABLE
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.run

ONE, OTHER = "the-first-token-of-two", "the-second-token-of-two"
SOCKETS = ("api/here", "api/runs/one/stream", "_stcore/stream")
"""Of every page, of a live run, and Streamlit's own."""


@contextmanager
def serving(runs: Path, host: str, port: int, token: str) -> Iterator[str]:
    """A server; yields the address that it prints, with the token."""
    command = [sys.executable, "-m", "strategy_app", "--host", host, "--port", str(port)]
    log = runs.parent / f"{token}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--runs", str(runs)],
            env=os.environ | {TOKEN_VARIABLE: token},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        address = (
            f"http://{host if host.startswith('[') or ':' not in host else f'[{host}]'}:{port}"
        )
        wait_until(lambda: process.poll() is not None or answers(f"{address}/healthz"))
        assert process.poll() is None, log.read_text()
        yield str(re.findall(r"http://\S+", log.read_text())[0])
    finally:
        process.terminate()
        process.wait(MAX_WAIT_S)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(json.load(answer) == {"status": "ok"})
    except OSError:
        return False


def status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return int(error.code)


def cookie(host: str, token: str) -> str:
    return f"{cookie_name(host)}={Access(token=token).cookie_value(os.getuid())}"


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_a_lab_on_ipv6_lets_in_whom_it_should(host: str, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "one", steps=5, windows=0)
    port = free_port("::1", 0)
    with serving(tmp_path / "runs", host, port, ONE) as printed:
        own = f"[::1]:{port}"
        base = f"http://{own}"
        assert printed == f"{base}/?token={ONE}"
        bearer = {"Authorization": f"Bearer {ONE}"}
        assert status(f"{base}/api/runs/one/timeline", **bearer) == 200
        assert status(f"{base}/api/runs/one/timeline") == 401
        assert status(f"{base}/api/runs/one/timeline", **bearer, Host=f"localhost:{port}") == 200
        assert status(f"{base}/api/runs/one/timeline", **bearer, Host=f"[::2]:{port}") in (
            400,
            403,
            421,
        )
        assert status(f"{base}/api/runs/one/timeline", **bearer, Host=f"::1:{port}") in (
            400,
            403,
            421,
        )
        assert (
            status(f"{base}/api/runs/one/timeline", **bearer, Origin=f"http://[::1]:{port + 1}")
            == 403
        )
        assert status(f"{base}/api/runs/one/timeline", Cookie=cookie(own, ONE)) == 200
        with opened(own, "api/runs/one/stream", ONE) as socket:
            assert "status" in json.loads(socket.recv(MAX_WAIT_S))


@contextmanager
def opened(host: str, path: str, token: str) -> Iterator[ClientConnection]:
    headers = {"Cookie": cookie(host, token)}
    origin = f"http://{host}"
    with connect(
        f"ws://{host}/{path}",
        additional_headers=headers,
        origin=origin,
        open_timeout=MAX_WAIT_S,  # type: ignore[arg-type]
    ) as socket:
        yield socket


def test_open_sockets_end_when_the_token_changes(tmp_path: Path) -> None:
    """A token is that of one server: who was in has to come in again, at a socket, too."""
    runs = tmp_path / "runs"
    write_run(runs / "one", steps=5, windows=0)
    port = free_port("127.0.0.1", 0)
    host = f"127.0.0.1:{port}"
    sockets = []
    with serving(runs, "127.0.0.1", port, ONE):
        for path in SOCKETS:
            context = opened(host, path, ONE)
            sockets.append((context, context.__enter__()))
    with serving(runs, "127.0.0.1", port, OTHER):
        for _, socket in sockets:
            with pytest.raises(ConnectionClosed):
                _read_to_the_end(socket)
        for path in SOCKETS:
            assert closed_with(host, path, ONE) in (403, CLOSE_NO_TOKEN)
            with opened(host, path, OTHER):
                pass


def _read_to_the_end(socket: ClientConnection) -> None:
    while True:
        socket.recv(MAX_WAIT_S)


def closed_with(host: str, path: str, token: str) -> int:
    """How the server refuses a socket: a status, or a code of WebSockets."""
    try:
        with opened(host, path, token) as socket:
            socket.recv(MAX_WAIT_S)
    except InvalidStatus as error:
        return int(error.response.status_code)
    except ConnectionClosed as error:
        return int(error.rcvd.code) if error.rcvd else 0
    return 0
