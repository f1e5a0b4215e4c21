"""Turns a LabError of a route into a JSON response with its message."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from strategy_profiles.errors import LabError, RunFolderError

Handler = Callable[[Request], Awaitable[Response]]


def explained(handler: Handler) -> Handler:
    """Wrap a handler: RunFolderError becomes status 404, other LabErrors 400."""

    @functools.wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except RunFolderError as error:
            return JSONResponse({"error": str(error)}, 404)
        except LabError as error:
            return JSONResponse({"error": str(error)}, 400)

    return answer
