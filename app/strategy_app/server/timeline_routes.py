"""Spans of a run for the timeline: only what the visible range can show, as bytes.

GET /api/runs/{run}/timeline                  tracks, captured steps, length (JSON);
                                              `?opening=1`, with `view` or `step`: of a long run
                                              perhaps of the spans there alone
GET /api/runs/{run}/spans?from=&to=&px=       rectangles of a range, by
                                              `strategy_profiles.timeline.wire`;
                                              409 if `&identity=` is that of another run, or
                                              `&part=` is no longer kept
GET /api/runs/{run}/search?text=              spans by a part of their name or op (JSON)
GET /api/runs/{run}/selection?from=&to=       phases, ops and bytes of a range (JSON);
                                              `&tracks=0,2`: on these tracks only;
                                              `&by=type`: ops of one type together
GET /api/runs/{run}/flows?row=&start=         links of a span to other tracks (JSON)
GET /api/runs/{run}/same_op?row=&start=       the span and its copies on other tracks (JSON)
GET /api/runs/{run}/critical_path?step=       parts of a step's critical path, with rows (JSON)
GET /api/runs/{run}/slack?row=&start=         how much later the op of a span could end, or why
                                              that is not known (JSON)
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from strategy_app.live.hub import run_folder
from strategy_app.server import state
from strategy_app.server.opened import open_run
from strategy_app.server.route_errors import Handler, explained
from strategy_app.server.timelines import ReplacedRunError, place_of
from strategy_profiles.cache import KeptNewest
from strategy_profiles.errors import SpecError
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.timeline import Selection, Timeline, cut_view, find_spans, flows_of, select
from strategy_profiles.timeline.critical_path import PathPart, path_of_step
from strategy_profiles.timeline.same_op import same_op
from strategy_profiles.timeline.slack import (
    SpanSlack,
    StepSlack,
    slack_of,
    step_of_span,
    step_slack,
)
from strategy_profiles.timeline.wire import encode_view
from strategy_profiles.user_input.text import whole_or_none

_MAX_STEPS = 8
_MAX_NODES = 200_000
_slacks: KeptNewest[StepSlack] = KeptNewest(lambda known: len(known.graph), _MAX_STEPS, _MAX_NODES)


@explained
async def timeline(request: Request) -> Response:
    query = request.query_params
    place = place_of(query) if "opening" in query else None
    run_id = request.path_params["run"]
    described = await asyncio.to_thread(state.lab().timelines.describe, run_id, place)
    return JSONResponse(described)


@explained
async def spans(request: Request) -> Response:
    bounds = [_number(request, name) for name in ("from", "to", "px")]
    run_id = request.path_params["run"]
    known = [request.query_params.get(name) for name in ("identity", "part")]
    try:
        data = await asyncio.to_thread(_cut, run_id, known, *bounds)
    except ReplacedRunError as error:
        return JSONResponse({"error": str(error)}, 409)
    return Response(data, media_type="application/octet-stream")


@explained
async def search(request: Request) -> Response:
    text = request.query_params.get("text", "")[:200]
    matches = await asyncio.to_thread(_search, request.path_params["run"], text)
    return JSONResponse(matches)


@explained
async def selection(request: Request) -> Response:
    from_ns, to_ns = (int(_number(request, name)) for name in ("from", "to"))
    text = request.query_params.get("tracks", "")
    named = {whole_or_none(part) for part in text.split(",")}
    tracks = {number for number in named if number is not None} if text else None
    by_type = request.query_params.get("by") == "type"
    run_id = request.path_params["run"]
    selected = await asyncio.to_thread(_select, run_id, from_ns, to_ns, tracks, by_type)
    return JSONResponse(asdict(selected))


def _select(
    run_id: str, from_ns: int, to_ns: int, tracks: set[int] | None, by_type: bool
) -> Selection:
    laid_out = state.lab().timelines.get(run_id)
    return select(laid_out, from_ns, to_ns, tracks, by_type=by_type)


def _about_span(list_of: Callable[[Timeline, int, int], Sequence[Any]]) -> Handler:
    """Return a route that lists something of a span; the list of an unknown span is empty."""

    def answer(run_id: str, row: int, start_ns: int) -> list[dict[str, Any]]:
        laid_out = state.lab().timelines.get(run_id)
        is_known = 0 <= row < laid_out.num_rows
        return [asdict(each) for each in list_of(laid_out, row, start_ns)] if is_known else []

    @explained
    async def route(request: Request) -> Response:
        row, start_ns = (int(_number(request, name)) for name in ("row", "start"))
        run_id = request.path_params["run"]
        return JSONResponse(await asyncio.to_thread(answer, run_id, row, start_ns))

    return route


@explained
async def critical_path(request: Request) -> Response:
    step = int(_number(request, "step"))
    parts = await asyncio.to_thread(_path, request.path_params["run"], step)
    return JSONResponse([asdict(part) for part in parts])


def _path(run_id: str, step: int) -> list[PathPart]:
    lab = state.lab()
    opened = open_run(run_folder(lab.runs, run_id))
    return path_of_step(opened.profile, lab.timelines.get(run_id), step)


@explained
async def slack(request: Request) -> Response:
    row, start_ns = (int(_number(request, name)) for name in ("row", "start"))
    try:
        answer = await asyncio.to_thread(_slack, request.path_params["run"], row, start_ns)
    except ReplayError as error:  # an answer: many runs have no graph
        return JSONResponse({"reason": str(error)})
    return JSONResponse(asdict(answer))


def _slack(run_id: str, row: int, start_ns: int) -> SpanSlack:
    lab = state.lab()
    laid_out = lab.timelines.get(run_id)
    step = step_of_span(laid_out, row, start_ns)
    opened = open_run(run_folder(lab.runs, run_id))
    known = _slacks.get(
        f"{run_id} {step}", opened.stamp, lambda: step_slack(opened.profile, laid_out, step)
    )
    return slack_of(laid_out, known, row, start_ns)


def _cut(
    run_id: str, known: Sequence[str | None], from_ns: float, to_ns: float, width_px: float
) -> bytes:
    laid_out = state.lab().timelines.get(run_id, *known)
    return encode_view(laid_out, cut_view(laid_out, from_ns, to_ns, int(width_px)))


def _search(run_id: str, text: str) -> dict[str, Any]:
    return find_spans(state.lab().timelines.get(run_id), text)


def _number(request: Request, name: str) -> float:
    text = request.query_params.get(name, "")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 1e18:
        raise SpecError(f"{name}={text!r} is not a finite number", field=name)
    return value


ROUTES: list[BaseRoute] = [
    Route("/api/runs/{run}/timeline", timeline),
    Route("/api/runs/{run}/spans", spans),
    Route("/api/runs/{run}/search", search),
    Route("/api/runs/{run}/selection", selection),
    Route("/api/runs/{run}/flows", _about_span(flows_of)),
    Route("/api/runs/{run}/same_op", _about_span(same_op)),
    Route("/api/runs/{run}/critical_path", critical_path),
    Route("/api/runs/{run}/slack", slack),
]
