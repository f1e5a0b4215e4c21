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
from strategy_app.server.opened import OpenRun, open_run
from strategy_app.server.route_errors import Handler, explained
from strategy_app.server.timelines import ReplacedRunError, place_of
from strategy_profiles.cache import KeptNewest
from strategy_profiles.errors import SpecError
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.timeline import Timeline, cut_view, find_spans, flows_of, select
from strategy_profiles.timeline.critical_path import path_of_step
from strategy_profiles.timeline.same_op import same_op
from strategy_profiles.timeline.slack import (
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


def _answered_by(answer: Callable[[Request], Any]) -> Handler:
    """Return a route that answers in a thread: with JSON, or with the function's own response."""

    @explained
    async def route(request: Request) -> Response:
        answered = await asyncio.to_thread(answer, request)
        return answered if isinstance(answered, Response) else JSONResponse(answered)

    return route


def timeline(request: Request) -> dict[str, Any]:
    query = request.query_params
    place = place_of(query) if "opening" in query else None
    return state.lab().timelines.describe(request.path_params["run"], place)


def spans(request: Request) -> Response:
    from_ns, to_ns, width_px = (_number(request, name) for name in ("from", "to", "px"))
    known = [request.query_params.get(name) for name in ("identity", "part")]
    try:
        laid_out = state.lab().timelines.get(request.path_params["run"], *known)
    except ReplacedRunError as error:
        return JSONResponse({"error": str(error)}, 409)
    data = encode_view(laid_out, cut_view(laid_out, from_ns, to_ns, int(width_px)))
    return Response(data, media_type="application/octet-stream")


def search(request: Request) -> dict[str, Any]:
    return find_spans(_laid_out(request), request.query_params.get("text", "")[:200])


def selection(request: Request) -> dict[str, Any]:
    from_ns, to_ns = (int(_number(request, name)) for name in ("from", "to"))
    text = request.query_params.get("tracks", "")
    named = {whole_or_none(part) for part in text.split(",")}
    tracks = {number for number in named if number is not None} if text else None
    by_type = request.query_params.get("by") == "type"
    return asdict(select(_laid_out(request), from_ns, to_ns, tracks, by_type=by_type))


def _about_span(
    list_of: Callable[[Timeline, int, int], Sequence[Any]],
) -> Callable[[Request], list[dict[str, Any]]]:
    """Return what lists something of a span; the list of an unknown span is empty."""

    def answer(request: Request) -> list[dict[str, Any]]:
        row, start_ns = (int(_number(request, name)) for name in ("row", "start"))
        laid_out = _laid_out(request)
        is_known = 0 <= row < laid_out.num_rows
        return [asdict(each) for each in list_of(laid_out, row, start_ns)] if is_known else []

    return answer


def critical_path(request: Request) -> list[dict[str, Any]]:
    step = int(_number(request, "step"))
    parts = path_of_step(_opened(request).profile, _laid_out(request), step)
    return [asdict(part) for part in parts]


def slack(request: Request) -> dict[str, Any]:
    row, start_ns = (int(_number(request, name)) for name in ("row", "start"))
    laid_out = _laid_out(request)
    try:
        step = step_of_span(laid_out, row, start_ns)
        opened = _opened(request)
        known = _slacks.get(
            f"{request.path_params['run']} {step}",
            opened.stamp,
            lambda: step_slack(opened.profile, laid_out, step),
        )
        return asdict(slack_of(laid_out, known, row, start_ns))
    except ReplayError as error:  # an answer: many runs have no graph
        return {"reason": str(error)}


def _laid_out(request: Request) -> Timeline:
    return state.lab().timelines.get(request.path_params["run"])


def _opened(request: Request) -> OpenRun:
    return open_run(run_folder(state.lab().runs, request.path_params["run"]))


def _number(request: Request, name: str) -> float:
    text = request.query_params.get(name, "")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 1e18:
        raise SpecError(f"{name}={text!r} is not a finite number", field=name)
    return value


_ANSWERS: dict[str, Callable[[Request], Any]] = {
    "timeline": timeline,
    "spans": spans,
    "search": search,
    "selection": selection,
    "flows": _about_span(flows_of),
    "same_op": _about_span(same_op),
    "critical_path": critical_path,
    "slack": slack,
}
ROUTES: list[BaseRoute] = [
    Route(f"/api/runs/{{run}}/{name}", _answered_by(answer)) for name, answer in _ANSWERS.items()
]
