"""The lab's own routes beside Streamlit's."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route


async def healthz(_request: Request) -> Response:
    """200 as soon as the server answers."""
    return JSONResponse({"status": "ok"})


def build_routes() -> list[BaseRoute]:
    """Every route of the lab."""
    return [Route("/healthz", healthz)]
