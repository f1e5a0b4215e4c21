"""MCP over HTTP on this machine alone, behind the gate and the token that the page has."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from strategy_app.access.gate import Gate
from strategy_app.access.policy import Access, choose_token
from strategy_app.server.asgi_app import free_port
from strategy_app.server.broken_requests import log_as_one_line
from strategy_app.server.sockets import allow_many_open_files
from strategy_core.processes.running_labs import TOKEN_VARIABLE

HOST = "127.0.0.1"
PATH = "/mcp"


GRACE_S = 3
"""After SIGTERM, for requests that are being answered. An agent that holds its stream of messages
open would otherwise keep the server for ever."""


def serve_http(server: MCPServer[Any], port: int) -> None:
    """Serve until Ctrl-C or SIGTERM; raises SpecError if the port or the token cannot be used."""
    access = Access(HOST, port, choose_token(os.environ))
    # Runs inherit the environment: what they execute has no use for the token.
    os.environ.pop(TOKEN_VARIABLE, None)
    access = replace(access, port=free_port(HOST, port))
    # The gate checks Host and Origin before the SDK sees a request.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, transport_security=unchecked, host=HOST
    )
    print(
        f"MCP at http://{HOST}:{access.port}{PATH}\n"
        f"with the header Authorization: Bearer {access.token}",
        file=sys.stderr,
        flush=True,
    )
    allow_many_open_files()
    log_as_one_line()
    uvicorn.run(
        Gate(app, access),
        host=HOST,
        port=access.port,
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # the gate needs the connection's own address
        timeout_graceful_shutdown=GRACE_S,
    )
