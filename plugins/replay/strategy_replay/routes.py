"""A predicted step for the timeline.

GET /api/runs/{run}/predicted?segment=&edit=  a step with an edit, by
                                              `strategy_replay.engine.edit_text`, on rows (JSON)
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from strategy_app.added_routes import Routes
from strategy_app.live.hub import run_folder
from strategy_app.server import state
from strategy_app.server.opened import open_run
from strategy_app.server.route_errors import explained
from strategy_profiles.errors import SpecError
from strategy_profiles.user_input.text import whole_or_none
from strategy_replay.engine.edit_text import edits_of
from strategy_replay.engine.replays import replays
from strategy_replay.predicted_step import predicted_step


@explained
async def predicted(request: Request) -> Response:
    text = request.query_params.get("edit", "")
    segment = whole_or_none(request.query_params.get("segment", ""))
    if segment is None:
        raise SpecError("segment= is to be the number of a segment", field="segment")
    prediction = await asyncio.to_thread(_predicted, request.path_params["run"], segment, text)
    return JSONResponse(prediction)


def _predicted(run_id: str, segment: int, text: str) -> dict[str, Any]:
    lab = state.lab()
    opened = open_run(run_folder(lab.runs, run_id))
    edits = edits_of(opened.profile, segment, text)
    opened.ask(replays, segment)  # once, for all edits and all viewers
    laid_out = lab.timelines.get(run_id)
    return predicted_step(opened.profile, laid_out, segment, edits).as_columns()


ROUTES = Routes((Route("/api/runs/{run}/predicted", predicted),))
