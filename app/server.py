"""The web server: Streamlit's page and the lab's own routes in one process, on loopback."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from strategy_lab.app import browser, state
from strategy_lab.app.assets import Assets
from strategy_lab.app.preload import preload_soon
from strategy_lab.app.routes import build_routes
from strategy_lab.app.theme import theme_options
from strategy_lab.profiles.errors import SpecError

SCRIPT = Path(__file__).parent / "frame" / "main.py"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def server_options(host: str, port: int) -> dict[str, Any]:
    """Streamlit's options for the lab."""
    options = {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.runOnSave": False,
        # A reload of changed modules would give the page and the routes a hub each.
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": False,
        # A full collection after every script run costs more than everything the page does.
        "runner.postScriptGC": False,
        # A page says what it is told to, not whatever expression stands alone in its file.
        "runner.magicEnabled": False,
        "client.toolbarMode": "minimal",
        "client.showErrorLinks": False,
        **theme_options(),
    }
    if host in LOOPBACK:
        # A page elsewhere whose name was made to point here must not reach the lab.
        options["server.allowedHosts"] = ["127.0.0.1", "localhost", "[::1]", "::1"]
    return options


def create_app() -> st.App:
    """The page with the lab's routes; `state.configure` has been called before."""
    return st.App(
        SCRIPT, routes=build_routes(), middleware=[Middleware(Assets)], lifespan=_lifespan
    )


def free_port(host: str, port: int) -> int:
    """`port`, or for 0 one that is free; raises SpecError where it is taken or not allowed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise SpecError(
                "The lab needs an address and a port of its own",
                f"{host}:{port} ({getattr(error, 'strerror', None) or error})",
                "Choose another with --port, or --port 0 for any that is free",
                field="port",
            ) from None
        return int(probe.getsockname()[1])


@asynccontextmanager
async def _lifespan(_app: st.App) -> AsyncIterator[dict[str, Any]]:
    lab = state.lab()
    lab.open()
    preload_soon()
    try:
        yield {}
    finally:
        lab.close()


def serve(host: str, port: int, runs: Path, *, open_browser: bool = False) -> None:
    """Serve the lab until interrupted; raises LabError where it cannot start."""
    port = free_port(host, port)
    _make_folder(runs)
    state.configure(runs, host=host, spare=True)
    if open_browser:
        browser.open_soon(browser.address(host, port))
    create_app().run(config=server_options(host, port))


def _make_folder(runs: Path) -> None:
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(
            "The lab keeps its runs in a folder",
            f"{runs} ({error.strerror})",
            "Name another with --runs",
            field="runs",
        ) from None
