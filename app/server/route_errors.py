"""What a route answers where a request cannot be served: the error's sentence as JSON."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from strategy_lab.profiles.errors import LabError, RunFolderError

Handler = Callable[[Request], Awaitable[Response]]


def explained(handler: Handler) -> Handler:
    """The handler, with LabErrors as answers: 404 for a run, else 400."""

    @functools.wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except RunFolderError as error:
            return JSONResponse({"error": str(error)}, 404)
        except LabError as error:
            return JSONResponse({"error": str(error)}, 400)

    return answer
