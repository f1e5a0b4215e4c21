"""The lab's own routes beside Streamlit's: live steps, spans of a timeline, a step, health."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from strategy_app.access.gate import HEALTH
from strategy_app.added_routes import added_routes
from strategy_app.live.hub import run_folder
from strategy_app.server import chart_library, state, timeline_routes
from strategy_app.server.lost_server import HERE, presence
from strategy_app.server.route_errors import explained
from strategy_profiles import exports
from strategy_profiles.errors import LabError, RunFolderError, SpecError
from strategy_profiles.tables.store import load
from strategy_profiles.user_input.text import TextError, parse_whole, quoted

CLOSE_NOT_FOUND = 4404
_MOST_REASON_BYTES = 123


async def healthz(_request: Request) -> Response:
    """Return 200 as soon as the server answers. Needs no token, so it says nothing else."""
    return JSONResponse({"status": "ok"})


async def stream(socket: WebSocket) -> None:
    """`/api/runs/{run}/stream?cursor=`: sends each message of `LiveRun.message` as it comes.

    Closes with 4404 if the run does not exist or is deleted. A page without the token never gets
    here: `strategy_app.access.gate` closes its connection with 4401.
    """
    await socket.accept()
    run_id = socket.path_params["run"]
    try:
        run_folder(state.lab().runs, run_id)
    except LabError as error:
        await socket.close(CLOSE_NOT_FOUND, close_reason(error))
        return
    sending = asyncio.create_task(_send(socket, run_id))
    try:
        # The page sends nothing: reading is how its disconnection is noticed. What another program
        # sends, text or bytes, is not looked at.
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass
    finally:
        sending.cancel()
        # Starlette raises RuntimeError for a message to a socket that is closed already.
        with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
            await sending


def close_reason(error: LabError) -> str:
    """Return an error's text within the limit of RFC 6455, which is in bytes of UTF-8."""
    return str(error).encode("utf-8", "replace")[:_MOST_REASON_BYTES].decode(errors="ignore")


async def _send(socket: WebSocket, run_id: str) -> None:
    messages = state.lab().hub.stream(run_id, socket.query_params.get("cursor", ""))
    try:
        async with contextlib.aclosing(messages):
            async for message in messages:
                await socket.send_text(message)
    except RunFolderError as error:  # deleted while it was watched
        await socket.close(CLOSE_NOT_FOUND, close_reason(error))


@explained
async def page_of_step(request: Request) -> Response:
    """`/report/{run}/{format}?step=`: a step, or the usual one, as a self-contained page."""
    folder = run_folder(state.lab().runs, request.path_params["run"])
    name, pages = request.path_params["format"], exports.step_pages()
    if name not in pages:
        problem = f"No format {quoted(name)} shows a step as a page"
        raise SpecError(problem, advice=f"Those that do: {', '.join(pages) or 'none'}")
    step = _step_of(request)
    return own_page(await asyncio.to_thread(lambda: pages[name].make(load(folder), step)))


def _step_of(request: Request) -> int | None:
    """Return the step that the address names, if it names one; raises SpecError for other text."""
    text = request.query_params.get("step")
    if text is None:
        return None
    try:
        return parse_whole(text)
    except TextError as error:
        problem = f"step={quoted(text)} {error}"
        raise SpecError(
            problem, advice="Name a captured step by its number", field="step"
        ) from None


def own_page(data: bytes | str) -> Response:
    """A page that brings its own script and nothing else: it may not reach the lab's routes."""
    policy = "sandbox allow-scripts allow-downloads; default-src 'none'; img-src data:; "
    policy += "style-src 'unsafe-inline'; script-src 'unsafe-inline'; font-src data:"
    headers = {"Content-Security-Policy": policy}
    return Response(data, media_type="text/html; charset=utf-8", headers=headers)


async def front_page(request: Request) -> Response:
    """`/lab`, as the other pages are named: Streamlit knows its first page by `/` alone."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"./{query}")


def build_routes() -> list[BaseRoute]:
    """Every route of the lab."""
    return [
        Route(HEALTH, healthz),
        Route("/lab", front_page),
        WebSocketRoute(HERE, presence),
        WebSocketRoute("/api/runs/{run}/stream", stream),
        Route("/report/{run}/{format}", page_of_step),
        *chart_library.ROUTES,
        *timeline_routes.ROUTES,
        *added_routes(),
    ]
