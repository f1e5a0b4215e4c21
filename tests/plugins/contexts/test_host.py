"""The listener: it serves a room while it is open, on one port, and leaves the port free after."""

from __future__ import annotations

import asyncio
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping

import pytest

from strategy_contexts.lecture import answer_app
from strategy_contexts.lecture.answer_app import RateLimit
from strategy_contexts.lecture.host import LectureHost
from strategy_contexts.lecture.lecture import Lecture
from strategy_profiles.errors import LabError
from tests.timeouts import MAX_WAIT_S


def fetch(port: int, path: str, headers: Mapping[str, str] | None = None) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=dict(headers or {}))
    try:
        with urllib.request.urlopen(request, timeout=MAX_WAIT_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_room_answers_until_it_is_closed_and_a_new_one_has_a_new_code(lecture: Lecture) -> None:
    async def rooms() -> None:
        host = LectureHost(lecture)
        port = await host.open()
        assert lecture.room is not None
        first = lecture.room.code
        assert await asyncio.to_thread(fetch, port, f"/{first}") == 200
        again = await host.open()
        assert await asyncio.to_thread(fetch, again, f"/{first}") == 404
        await host.close()
        assert lecture.room is None
        with pytest.raises(urllib.error.URLError, match="refused"):
            await asyncio.to_thread(fetch, again, f"/{first}")

    asyncio.run(rooms())


def test_a_phone_that_waits_does_not_keep_a_room_open(lecture: Lecture) -> None:
    async def closed() -> int:
        host = LectureHost(lecture)
        port = await host.open()
        assert lecture.room is not None
        seen = (await lecture.for_device(None))["version"]
        path = f"/{lecture.room.code}/question?seen={seen}"
        waiting = asyncio.create_task(asyncio.to_thread(fetch, port, path))
        while not lecture.num_waiting:
            await asyncio.sleep(0)
        await host.close()
        return await waiting

    assert asyncio.run(closed()) == 404


def test_a_port_that_is_taken_is_named(lecture: Lecture) -> None:
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(LabError, match=f"port {port}.*--lecture-port"):
            asyncio.run(LectureHost(lecture, port).open())


def test_a_client_has_one_limit_whatever_address_its_headers_name(
    lecture: Lecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_app, "RateLimit", lambda **_: RateLimit(burst=2, per_second=0))

    async def answers() -> list[int]:
        host = LectureHost(lecture)
        port = await host.open()
        assert lecture.room is not None
        path = f"/{lecture.room.code}"
        named = [{"X-Forwarded-For": f"198.51.100.{number}"} for number in range(3)]
        found = [await asyncio.to_thread(fetch, port, path, headers) for headers in named]
        await host.close()
        return found

    assert asyncio.run(answers()) == [200, 200, 429]
