"""A client that breaks HTTP or the WebSocket protocol leaves one line in the log, no traceback."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import uvicorn

from strategy_app.server.broken_requests import log_as_one_line
from tests.timeouts import MAX_WAIT_S, wait_until

BROKEN_CHUNK = b"zz\r\nabc\r\n"
NOT_MASKED = b"\x81\x02hi"
NO_UTF8 = b"\x81\x82\0\0\0\0\xff\xfe"
asked = threading.Event()
"""Whether a WebSocket was asked for."""


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Refuses requests without reading them, and takes its time to refuse a WebSocket."""
    if scope["path"] == "/fault":
        raise ValueError("a fault of our own")
    if scope["type"] == "websocket":
        await receive()
        asked.set()
        if scope["path"] == "/open":
            await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            pass
        return
    headers = [(b"content-length", b"2"), (b"x", b"\n")]
    if scope["path"] != "/header":
        headers.pop()
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": b"no"})


@pytest.fixture
def port() -> Iterator[int]:
    """A server with the protocols of the lab's."""
    log_as_one_line()
    config = uvicorn.Config(
        app, http="h11", ws="websockets-sansio", lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    wait_until(lambda: server.started)
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()


def say(port: int, *parts: bytes) -> bytes:
    """Send the parts one after the other, each once the one before was answered or refused."""
    answer = b""
    address = ("127.0.0.1", port)
    with socket.create_connection(address, MAX_WAIT_S) as client, suppress(ConnectionError):
        for number, part in enumerate(parts):
            if number:
                answer += client.recv(1000)
            client.sendall(part)
        client.shutdown(socket.SHUT_WR)
        while more := client.recv(1000):
            answer += more
    return answer


def request(start: str, *headers: str) -> bytes:
    return "\r\n".join((f"{start} HTTP/1.1", "Host: 127.0.0.1", *headers, "", "")).encode()


def websocket(path: str) -> bytes:
    headers = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    return request(f"GET {path}", *headers, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")


CHUNKED = request("POST /", "Transfer-Encoding: chunked")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((CHUNKED + BROKEN_CHUNK,), "Invalid HTTP request received."),
        ((CHUNKED, BROKEN_CHUNK), "Invalid HTTP request received."),
        ((b"\x16\x03\x01\r\n\r\n",), "Invalid HTTP request received."),
        ((websocket("/open"), NO_UTF8), "Invalid UTF-8 sequence received from client."),
    ],
    ids=["chunk before the answer", "chunk after the answer", "TLS", "text that is no UTF-8"],
)
def test_what_is_not_the_protocol_is_one_line(
    parts: tuple[bytes, ...], said: str, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    say(port, *parts)
    wait_until(lambda: bool(caplog.records))
    say(port, request("GET /", "Connection: close"))
    assert [record.getMessage() for record in caplog.records] == [said]
    assert "Traceback" not in caplog.text


def test_a_frame_before_the_handshake_is_one_line(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with socket.create_connection(("127.0.0.1", port), timeout=MAX_WAIT_S) as client:
        asked.clear()
        client.sendall(websocket("/waits"))
        assert asked.wait(MAX_WAIT_S)
        client.sendall(NOT_MASKED)
        wait_until(lambda: bool(caplog.records))
    (line,) = (record.getMessage() for record in caplog.records)
    assert line.startswith("A connection was closed: its client broke the protocol")
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("path", "error"), [("/fault", "ValueError"), ("/header", "LocalProtocolError")]
)
def test_a_fault_of_our_own_keeps_its_traceback(
    path: str, error: str, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    say(port, request(f"GET {path}", "Connection: close"))
    wait_until(lambda: bool(caplog.records))
    assert "Traceback" in caplog.text
    assert error in caplog.text
