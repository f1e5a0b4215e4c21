"""Ask an ASGI app without a server: one request, or the first message of a WebSocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from tests.timeouts import MAX_WAIT_S


@dataclass(frozen=True)
class Answer:
    """Of a request; `closed` and `text` are those of a WebSocket."""

    status: int = 0
    headers: dict[str, str] | None = None
    body: bytes = b""
    closed: int | None = None

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """`headers` are lower-case; those of a browser at the lab's address, where not given."""

    def __init__(self, app: Any, host: str = "localhost:8501", method: str = "GET") -> None:
        self._app = app
        self._host = host
        self._method = method

    def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        return asyncio.run(asyncio.wait_for(self._get(path, headers or {}), MAX_WAIT_S))

    def listen(
        self, path: str, headers: dict[str, str] | None = None, says: Sequence[str | bytes] = ()
    ) -> Answer:
        """The first message of a WebSocket, or the code it was closed with; then leave.

        `says` are messages that the client sends at once.
        """
        return asyncio.run(asyncio.wait_for(self._listen(path, headers or {}, says), MAX_WAIT_S))

    def _scope(self, kind: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
        plain, _, query = path.partition("?")
        sent = {"host": self._host} | headers
        return {
            "type": kind,
            "http_version": "1.1",
            "method": self._method,
            "scheme": "http" if kind == "http" else "ws",
            "path": unquote(plain),
            "raw_path": plain.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
            "server": ("localhost", 8501),
            "client": ("127.0.0.1", 1),
            "subprotocols": [],
        }

    async def _get(self, path: str, headers: dict[str, str]) -> Answer:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(self._scope("http", path, headers), receive, send)
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return Answer(sent[0]["status"], found, body)

    async def _listen(
        self, path: str, headers: dict[str, str], says: Sequence[str | bytes]
    ) -> Answer:
        inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        inbox.put_nowait({"type": "websocket.connect"})
        for message in says:
            kind = "text" if isinstance(message, str) else "bytes"
            inbox.put_nowait({"type": "websocket.receive", kind: message})
        serving = asyncio.create_task(
            self._app(self._scope("websocket", path, headers), inbox.get, outbox.put)
        )
        answer = Answer()
        while True:
            message = await outbox.get()
            if message["type"] == "websocket.close":
                answer = Answer(closed=message["code"])
                break
            if message["type"] == "websocket.send":
                answer = Answer(body=message["text"].encode())
                break
        inbox.put_nowait({"type": "websocket.disconnect", "code": 1001})
        await serving
        return answer
