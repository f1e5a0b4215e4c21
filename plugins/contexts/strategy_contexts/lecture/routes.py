"""The lecturer's page and its commands, behind the lab's gate."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from strategy_app.access.policy import Access
from strategy_app.added_routes import Link, Routes
from strategy_app.server import state
from strategy_app.server.banner import addresses
from strategy_app.server.route_errors import explained
from strategy_contexts.lecture.course import order
from strategy_contexts.lecture.host import EVERY_INTERFACE, LabLecture, LectureHost
from strategy_contexts.lecture.pages import document
from strategy_contexts.stepper.page import viewer_script
from strategy_profiles.errors import LabError
from strategy_profiles.exports import step_pages
from strategy_profiles.reporting.document import follow_theme
from strategy_profiles.user_input.text import whole_or_none


async def page(_request: Request) -> Response:
    """`/lecture`: the page for the projector."""
    framed = (each.script() for each in step_pages().values())
    scripts = (follow_theme(), *framed, viewer_script())
    text, policy = document("lecturer", "Lecture · Strategy Lab", *scripts)
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


@explained
async def lecturer_state(request: Request) -> Response:
    """`/api/lecture?seen=`: what the page draws; with `seen` once there is something newer."""
    lecture = state.lab().part(LabLecture).host.lecture
    seen = whole_or_none(request.query_params.get("seen", ""))
    if seen is not None:
        await lecture.wait(seen)
    return JSONResponse(await lecture.for_lecturer(), headers={"Cache-Control": "no-store"})


@explained
async def picture(_request: Request) -> Response:
    """`/api/lecture/picture`: the evidence of the scene, as a document for a frame."""
    made = (await state.lab().part(LabLecture).host.lecture.current_scene()).picture
    return Response(await asyncio.to_thread(made), media_type="text/plain; charset=utf-8")


@explained
async def command(request: Request) -> Response:
    """`POST /api/lecture/{command}`: act on a key of the lecturer's page; answer its new state."""
    host = state.lab().part(LabLecture).host
    match request.path_params["command"]:
        case "forward":
            await host.lecture.forward()
        case "back":
            await host.lecture.back()
        case "run":
            await host.lecture.run_live()
        case "open":
            await _open(host)
        case "close":
            await host.close()
        case other:
            raise LabError(f"A lecture has no command {other}")
    return JSONResponse(await host.lecture.for_lecturer())


async def _open(host: LectureHost) -> None:
    port = await host.open()
    room = host.lecture.room
    assert room is not None
    this_machine, *others = addresses(Access(EVERY_INTERFACE, port))
    host.lecture.links = tuple(f"{url}/{room.code}" for url in others or [this_machine])
    await host.lecture.note_change()


ROUTES = Routes(
    (
        Route("/lecture", page),
        Route("/api/lecture", lecturer_state),
        Route("/api/lecture/picture", picture),
        Route("/api/lecture/{command}", command, methods=["POST"]),
    ),
    (
        Link(
            "contexts",
            "Give a lecture",
            "lecture",
            f"{len(order())} questions for a projector; the room answers on its phones.",
        ),
    ),
)
