"""A real lab to attack, and the raw requests of an attacker, who sends what no browser would."""

from __future__ import annotations

import base64
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from strategy_app.access.policy import cookie_name
from strategy_core.processes.running_labs import TOKEN_VARIABLE
from tests.lab_access import cookie_value
from tests.server_process import ServerProcess, server_process
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S

RUN = "victim"
ANSWER_WITHIN_S = 30.0
SILENCE_S = 3.0
"""A WebSocket that was accepted and is not closed by then is open."""
_CLOSE = 8


@dataclass(frozen=True)
class Answer:
    """Of an HTTP request; `headers` has lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Victim:
    """A lab as its owner started it: with a random token, or without one."""

    pid: int
    port: int
    token: str | None
    runs: Path
    printed: str
    """By the lab at its start."""

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def cookie(self) -> dict[str, str]:
        """What the owner's browser sends with every request to 127.0.0.1, whichever the port."""
        return {"Cookie": f"{cookie_name(self.host)}={cookie_value(self.token)}"}

    def ask(
        self,
        target: str,
        headers: Mapping[str, str] | None = None,
        *,
        method: str = "GET",
        address: str = "127.0.0.1",
        body: bytes = b"",
    ) -> Answer:
        """Send exactly these bytes: no library mends the path or adds a header except Host."""
        sent = {"Host": self.host, "Connection": "close", "Accept": "text/html", **(headers or {})}
        if body:
            sent["Content-Length"] = str(len(body))
        data = b""
        with socket.create_connection((address, self.port), ANSWER_WITHIN_S) as connection:
            connection.sendall(_request(method, target, sent) + body)
            while received := connection.recv(65536):
                data += received
        head, _, answered = data.partition(b"\r\n\r\n")
        return _answer(head, answered)

    def listen(self, path: str, headers: Mapping[str, str] | None = None) -> str:
        """What comes of a WebSocket: `HTTP 403`, `closed 4401`, or `open`."""
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        key = {"Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode()}
        sent = {"Host": self.host, **upgrade, **key, **(headers or {})}
        with socket.create_connection(("127.0.0.1", self.port), ANSWER_WITHIN_S) as connection:
            connection.sendall(_request("GET", path, sent))
            with connection.makefile("rb") as stream:
                status = int(stream.readline().split()[1])
                if status != HTTPStatus.SWITCHING_PROTOCOLS:
                    return f"HTTP {status}"
                while stream.readline().strip():
                    pass
                connection.settimeout(SILENCE_S)
                try:
                    first, length = stream.read(2)
                    is_close = first & 0xF == _CLOSE and length >= 2
                    return f"closed {int.from_bytes(stream.read(2))}" if is_close else "open"
                except TimeoutError:
                    return "open"


def _request(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items() if v)]
    return "\r\n".join([*lines, "", ""]).encode()


def _answer(head: bytes, body: bytes) -> Answer:
    first, *rest = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in rest)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Answer(int(first.split()[1]), headers, body)


@contextmanager
def victim(folder: Path, *arguments: str, host: str = "127.0.0.1") -> Iterator[Victim]:
    """A lab of its own process over one made-up run; gone at the end."""
    runs = folder / "runs"
    if not runs.exists():
        write_run(runs / RUN, steps=20, windows=1)
    environment = {name: text for name, text in os.environ.items() if name != TOKEN_VARIABLE}
    given = ("--host", host, "--runs", str(runs), *arguments)
    with server_process(folder / "lab.log", *given, environment=environment) as lab:
        token = _printed_token(lab)
        yield Victim(lab.pid, lab.port, token, runs, lab.log.read_text())


def _printed_token(lab: ServerProcess) -> str | None:
    """The token in the address that the lab prints once it listens."""
    deadline = time.monotonic() + MAX_WAIT_S
    while time.monotonic() < deadline:
        if printed := re.search(r"http://\S+", lab.log.read_text()):
            return urlsplit(printed[0]).query.removeprefix("token=") or None
        time.sleep(0.1)
    raise RuntimeError(f"the lab printed no address:\n{lab.log.read_text()}")
