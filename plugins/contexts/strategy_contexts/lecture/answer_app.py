"""What phones reach: the answer page, the current question, and a place for an answer.

A separate server with no other route and no access to the lab. Requests need the room's code,
which the lab itself does not accept.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import wraps

from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from strategy_contexts.lecture.lecture import Lecture
from strategy_contexts.lecture.pages import document
from strategy_contexts.lecture.room import RoomError
from strategy_profiles.user_input.text import whole_or_none

MAX_CLIENTS = 2000
"""Buckets that are kept; the one unused for longest goes first."""


class RateLimit:
    """Allows `burst` requests at once and `per_second` from then on, for each client."""

    def __init__(
        self, burst: float, per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Tokens of each client, and when they were counted."""

    def allows(self, client: str) -> bool:
        """Take a token of a client; False if it has none left."""
        now = self._clock()
        left, counted_s = self._buckets.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - counted_s) * self._per_second)
        is_allowed = left >= 1
        self._buckets[client] = (left - is_allowed, now)
        while len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return is_allowed


COOKIE = "strategy-lab-answers"
_DEVICE = re.compile(r"[A-Za-z0-9_-]{22}")
HEADERS = {
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NO_ROOM = "No lecture has this address. Compare it with the one that the lecturer shows.\n"
LATE_S = 1.0
"""An address that guesses waits so long for each answer."""
OFTEN = "This device asks too often. Wait a moment.\n"


class _Bounded(IntegerConvertor):
    """A number of at most 1,000 digits: Python raises an error at one of more than 4,300."""

    regex = "[0-9]{1,1000}"


register_url_convertor("bounded", _Bounded())
Handler = Callable[[Request, str | None], Awaitable[Response]]


class AnswerApp:
    """The routes of one lecture's room."""

    def __init__(self, lecture: Lecture) -> None:
        self._lecture = lecture
        # A room behind one address of a network: all of its devices ask again at a change.
        self._addresses = RateLimit(burst=1000, per_second=300)
        self._devices = RateLimit(burst=20, per_second=4)

    def app(self) -> Starlette:
        """The ASGI application."""
        routes = [
            Route("/{code}", self._guarded(self._page)),
            Route("/{code}/question", self._guarded(self._question)),
            Route(
                "/{code}/answers/{scene:bounded}/{choice:bounded}",
                self._guarded(self._answer),
                methods=["POST"],
            ),
        ]
        app = Starlette(routes=routes, exception_handlers={404: _not_found})
        app.router.redirect_slashes = False
        return app

    def _guarded(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Refuse clients that ask too often, other pages, and requests without the room's code."""

        @wraps(handler)
        async def answer(request: Request) -> Response:
            address = request.client.host if request.client else ""
            if not self._addresses.allows(address):
                return PlainTextResponse(OFTEN, 429, HEADERS)
            if not _is_own_page(request):
                return PlainTextResponse("Refused: another page sent this.\n", 403, HEADERS)
            given = request.cookies.get(COOKIE, "")
            device = given if _DEVICE.fullmatch(given) else None
            room = self._lecture.room
            if room is None or not room.admits(request.path_params["code"].upper(), address):
                if room is not None and room.slows(address):
                    await asyncio.sleep(LATE_S)
                return PlainTextResponse(NO_ROOM, 404, HEADERS)
            if device is not None and not self._devices.allows(device):
                return PlainTextResponse(OFTEN, 429, HEADERS)
            return await handler(request, device)

        return answer

    async def _page(self, _request: Request, device: str | None) -> Response:
        page, policy = document("answers", "Answer · Strategy Lab")
        headers = HEADERS | {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
        response = HTMLResponse(page, headers=headers)
        if device is None:
            device = secrets.token_urlsafe(16)
            response.set_cookie(COOKIE, device, httponly=True, samesite="strict")
        return response

    async def _question(self, request: Request, device: str | None) -> Response:
        """The question; with `?seen=` the next version of it, once there is one."""
        seen = whole_or_none(request.query_params.get("seen", ""))
        if seen is not None:
            await self._lecture.wait_for_question(seen)
        if self._lecture.room is None:
            return PlainTextResponse(NO_ROOM, 404, HEADERS)
        return JSONResponse(await self._lecture.for_device(device), headers=HEADERS)

    async def _answer(self, request: Request, device: str | None) -> Response:
        if device is None:
            return JSONResponse({"error": "Open the page of this lecture first."}, 409, HEADERS)
        try:
            scene, choice = request.path_params["scene"], request.path_params["choice"]
            await self._lecture.answer(device, scene, choice)
        except RoomError as error:
            return JSONResponse({"error": str(error)}, 409, HEADERS)
        return JSONResponse(await self._lecture.for_device(device), headers=HEADERS)


async def _not_found(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse(NO_ROOM, 404, HEADERS)


def _is_own_page(request: Request) -> bool:
    """Whether a browser's headers name no other page; one that only opens the page may."""
    origin = request.headers.get("origin")
    host = request.headers.get("host", "")
    if request.method == "GET" and origin is None:
        return True
    return origin in (f"http://{host}", f"https://{host}")
