"""The web server: Streamlit's page and the lab's own routes in one process, behind one gate."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from strategy_app.access.gate import Gate
from strategy_app.access.policy import Access
from strategy_app.server import state
from strategy_app.server.assets import Assets
from strategy_app.server.banner import addresses, banner
from strategy_app.server.beside import end_after
from strategy_app.server.broken_requests import log_as_one_line
from strategy_app.server.browser import Opening
from strategy_app.server.own_configuration import OwnConfiguration
from strategy_app.server.preload import preload_soon
from strategy_app.server.routes import build_routes
from strategy_app.server.sockets import allow_many_open_files, send_at_once
from strategy_app.server.theme import theme_options
from strategy_core.processes.running_labs import registered
from strategy_profiles.errors import SpecError

SCRIPT = Path(__file__).parents[1] / "shell" / "main.py"
SWITCH_S = 0.0005
"""How long a thread that reads a run may hold the interpreter while a browser waits for a file.

A page requests 60 files before it shows anything, while `shell.read_ahead` reads its run. With
Python's 5 ms, a long run delayed the page's connection by half a second.
"""
TRUSTED_PROXIES = "FORWARDED_ALLOW_IPS"
"""uvicorn's list of addresses whose headers it believes; by default those of this machine.

uvicorn replaces a connection's address by that of `X-Forwarded-For` if the connection comes from
one of them: there it expects a proxy. But every user of this machine connects from there, and the
gate asks the kernel for the owner of that address (`strategy_app.access.peer`). So another user
with the lab's cookie could name one of the owner's connections. Streamlit starts uvicorn and passes
no option for this, so uvicorn's environment variable is the only way to set it.
"""


def server_options(host: str, port: int) -> dict[str, Any]:
    """Streamlit's options for the lab."""
    return {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.runOnSave": False,
        # A reload of changed modules would give the page and the routes a hub each.
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": False,
        # A full collection after every script run costs more than everything the page does.
        "runner.postScriptGC": False,
        # Streamlit would show the value of every expression statement in a page's file.
        "runner.magicEnabled": False,
        "client.toolbarMode": "minimal",
        "client.showErrorLinks": False,
        # Streamlit's greeting asks a server on the internet for this machine's address, and does
        # not know the token.
        "logger.hideWelcomeMessage": True,
        **theme_options(),
    }


class GuardedApp(st.App):
    """The app behind the gate. As a middleware of the app the gate would lie within Starlette's
    handler of errors, whose answers would go out without its headers."""

    def __init__(self, *args: Any, gate: Callable[[ASGIApp], ASGIApp], **options: Any) -> None:
        super().__init__(*args, **options)
        self._gate = gate(super().__call__)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._gate(scope, receive, send)


def create_app(
    access: Access,
    opening: Opening | None = None,
    middleware: Sequence[Middleware] = (),
    known: AbstractContextManager[None] | None = None,
    configured: Callable[[], object] = lambda: None,
) -> GuardedApp:
    """The page with the lab's routes; `state.configure` has been called before.

    `known` is entered while the server runs; `configured` is called once Streamlit has its options.
    """
    entered = opening.entered if opening else lambda: None
    return GuardedApp(
        SCRIPT,
        routes=build_routes(),
        middleware=[*middleware, Middleware(Assets)],
        lifespan=partial(_lifespan, opening, known or contextlib.nullcontext(), configured),
        gate=partial(Gate, access=access, entered=entered),
    )


def free_port(host: str, port: int) -> int:
    """Return `port`, or a free one for 0. Raises SpecError if it is taken or not allowed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise SpecError(
                f"The lab cannot listen on {host}:{port}: "
                f"{getattr(error, 'strerror', None) or error}",
                advice="Choose another port with --port, or --port 0 for any free one",
                field="port",
            ) from None
        return int(probe.getsockname()[1])


@asynccontextmanager
async def _lifespan(
    opening: Opening | None,
    known: AbstractContextManager[None],
    configured: Callable[[], object],
    _app: st.App,
) -> AsyncIterator[dict[str, Any]]:
    configured()
    lab = state.lab()
    lab.open()
    send_at_once(lab.access.port)
    preload_soon()
    try:
        with known:
            yield {}
    finally:
        # Here, since the server ends itself with the signal that it got.
        if opening is not None:
            opening.close()
        await _close(lab)


async def _close(lab: state.Lab) -> None:
    """Close the lab once its runs have saved their state, or at once on a second signal."""
    if (run := lab.active_run()) is not None:
        said = f"Stopping {run} after its step, with its state saved"
        print(f"{said} (again to end it at once) ...", file=sys.stderr, flush=True)
    again = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: again.set())
    await asyncio.to_thread(lab.close, again.is_set)


def _stop_with_terminal() -> None:
    """Have a closed terminal stop the server as Ctrl-C does, unless that was started to stay."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def serve(
    access: Access,
    runs: Path,
    *,
    open_browser: bool = False,
    middleware: Sequence[Middleware] = (),
    options: Mapping[str, Any] | None = None,
    run: str | None = None,
    beside: int | None = None,
) -> None:
    """Serve the lab until Ctrl-C or SIGTERM; raises LabError where it cannot start.

    The browser opens at the page of `run`. With the process id of a program, `beside`, the server
    keeps no spare worker, which would slow the program, and ends after it.
    """
    sys.setswitchinterval(SWITCH_S)
    access = replace(access, port=free_port(access.host, access.port))
    runs = runs.absolute()
    _make_folder(runs)
    state.configure(runs, access=access, spare=beside is None, options=options)
    if beside is not None:
        end_after(beside)
    opening = Opening(addresses(replace(access, token=None))[0], _first_page(access, run))
    print(banner(access, runs), flush=True)
    if open_browser:
        opening.start()
    # One that ends with its program is not for others.
    known = None if beside else registered(runs, addresses(access)[0])
    os.environ[TRUSTED_PROXIES] = ""
    allow_many_open_files()
    log_as_one_line()
    _stop_with_terminal()
    # The server has shut down in good order when it lets Ctrl-C through.
    with contextlib.suppress(KeyboardInterrupt), OwnConfiguration() as own:
        app = create_app(access, opening, middleware, known, own.leave)
        app.run(config=server_options(access.host, access.port))


def _first_page(access: Access, run: str | None) -> str:
    address = addresses(access)[0]
    if run is None:
        return address
    joint = "&" if "?" in address else "/?"
    return f"{address}{joint}{urlencode({'run': run})}"


def _make_folder(runs: Path) -> None:
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(
            f"The runs folder {runs} cannot be created: {error.strerror}",
            advice="Name another with --runs",
            field="runs",
        ) from None
