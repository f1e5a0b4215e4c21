"""The report behind the page's gate: `/report/{run}`, and the link to it beside the downloads."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from strategy_app.added_routes import Link, Routes
from strategy_app.live.hub import run_folder
from strategy_app.server import state
from strategy_app.server.route_errors import explained
from strategy_app.server.routes import own_page
from strategy_profiles.analysed import load
from strategy_report.export import report


@explained
async def show(request: Request) -> Response:
    """`/report/{run}`: to read in a tab or save."""
    folder = run_folder(state.lab().runs, request.path_params["run"])
    page = await asyncio.to_thread(lambda: report(load(folder)))
    return own_page(page.encode("utf-8", "replace"))


ROUTES = Routes(
    (Route("/report/{run}", show),),
    (Link("runs", "Open the report", "report/{run}", "The whole run on one page."),),
)
