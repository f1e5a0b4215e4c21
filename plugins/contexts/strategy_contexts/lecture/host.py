"""Opens a room to phones and closes it: a listener on every interface, for the room alone."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from functools import partial

import uvicorn

from strategy_app.server import state
from strategy_contexts.lecture.answer_app import AnswerApp
from strategy_contexts.lecture.course import scenes
from strategy_contexts.lecture.lecture import Lecture
from strategy_contexts.lecture.option import PORT
from strategy_contexts.lecture.recording import remove_unpacked
from strategy_contexts.lecture.room import MAX_DEVICES, Room, new_code
from strategy_contexts.lecture.shown import as_recorded, recorded_live
from strategy_profiles.errors import LabError

EVERY_INTERFACE = "0.0.0.0"
FIRST_PORT = 8600
MAX_CONNECTIONS = 3 * MAX_DEVICES
"""A phone keeps one open while it waits, and needs another to answer."""
_ENDS_WITHIN_S = 2


class _Server(uvicorn.Server):
    """Installs no signal handlers: the lab's server, whose event loop it shares, has them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class LectureHost:
    """The lecture of a lab, and the listener while its room is open."""

    def __init__(self, lecture: Lecture, port: int | None = None) -> None:
        """`port` is that of the listener; None takes the first free one from `FIRST_PORT`."""
        self.lecture = lecture
        self._port = port
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def open(self) -> int:
        """Open a room with a new code and return its port; raises LabError if none is free."""
        await self.close()
        listening = _listen(self._port)
        config = uvicorn.Config(
            AnswerApp(self.lecture).app(),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # the limit per address needs the connection's own
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=_ENDS_WITHIN_S,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started and not self._serving.done():
            await asyncio.sleep(0.01)
        self.lecture.room = Room(new_code())
        return int(listening.getsockname()[1])

    async def close(self) -> None:
        """End the room: its answers are forgotten, its code is void, its port is closed."""
        self.lecture.room, self.lecture.links = None, ()
        await self.lecture.note_change()
        if self._server and self._serving:
            self._server.should_exit = True
            await self._serving
        self._server = self._serving = None


class LabLecture:
    """The lecture of the lab of this process, at its first scene."""

    def __init__(self) -> None:
        lab = state.lab()
        live = partial(recorded_live, launch=lab.launch, runs=lab.runs)
        lecture = Lecture(scenes(), as_recorded, live)
        self.host = LectureHost(lecture, lab.options.get(PORT.name))
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """Close the room and remove the lecture's files; called in a thread of the lab's."""
        if self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self.host.close(), self._loop).result()
        remove_unpacked()


def _listen(port: int | None) -> socket.socket:
    wanted = [port] if port is not None else range(FIRST_PORT, FIRST_PORT + 100)
    for each in wanted:
        # Of this protocol, asyncio sends small answers at once.
        listening = socket.socket(proto=socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((EVERY_INTERFACE, each))
        except (OSError, OverflowError):
            listening.close()
            continue
        return listening
    raise LabError(
        f"The room cannot listen on port {wanted[0]}",
        advice="Start the lab with --lecture-port and a port that is free",
    )
