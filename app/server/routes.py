"""The lab's own routes beside Streamlit's: live steps, spans of a timeline, reports, health."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from strategy_lab.app.access.gate import HEALTH
from strategy_lab.app.live.hub import run_folder
from strategy_lab.app.server import state, timeline_routes
from strategy_lab.app.server.route_errors import explained
from strategy_lab.profiles import exports
from strategy_lab.profiles.errors import LabError, RunFolderError
from strategy_lab.profiles.tables.store import load

CLOSE_NOT_FOUND = 4404


async def healthz(_request: Request) -> Response:
    """200 as soon as the server answers; asked without a token, so it says nothing else."""
    return JSONResponse({"status": "ok"})


async def stream(socket: WebSocket) -> None:
    """`/api/runs/{run}/stream?cursor=`: sends each message of `LiveRun.message` as it comes.

    Closes with 4404 if the run does not exist or is deleted. A page without the token never gets
    here: `app.access.gate` closes its connection with 4401.
    """
    await socket.accept()
    run_id = socket.path_params["run"]
    try:
        run_folder(state.lab().runs, run_id)
    except LabError as error:
        # RFC 6455 limits the reason of a close to 123 bytes.
        await socket.close(CLOSE_NOT_FOUND, str(error)[:100])
        return
    sending = asyncio.create_task(_send(socket, run_id))
    try:
        while True:  # the page sends nothing: reading is how its disconnection is noticed
            await socket.receive_text()
    except WebSocketDisconnect:
        pass
    finally:
        sending.cancel()
        # Starlette raises RuntimeError for a message to a socket that is closed already.
        with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
            await sending


async def _send(socket: WebSocket, run_id: str) -> None:
    messages = state.lab().hub.stream(run_id, socket.query_params.get("cursor", ""))
    try:
        async with contextlib.aclosing(messages):
            async for message in messages:
                await socket.send_text(message)
    except RunFolderError as error:  # deleted while it was watched
        await socket.close(CLOSE_NOT_FOUND, str(error)[:100])


@explained
async def report(request: Request) -> Response:
    """`/report/{run}`: the self-contained HTML report, to read in a tab or save."""
    folder = run_folder(state.lab().runs, request.path_params["run"])
    made = await asyncio.to_thread(lambda: exports.download(load(folder), "html"))
    # The report brings its own script and nothing else: it may not reach the lab's routes.
    policy = "sandbox allow-scripts allow-downloads; default-src 'none'; img-src data:; "
    policy += "style-src 'unsafe-inline'; script-src 'unsafe-inline'; font-src data:"
    headers = {"Content-Security-Policy": policy}
    return Response(made.data, media_type="text/html; charset=utf-8", headers=headers)


async def front_page(request: Request) -> Response:
    """`/lab`, as the other pages are named: Streamlit knows its first page by `/` alone."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/{query}")


def build_routes() -> list[BaseRoute]:
    """Every route of the lab."""
    return [
        Route(HEALTH, healthz),
        Route("/lab", front_page),
        WebSocketRoute("/api/runs/{run}/stream", stream),
        Route("/report/{run}", report),
        *timeline_routes.ROUTES,
    ]
