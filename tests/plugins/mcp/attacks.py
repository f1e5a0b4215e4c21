"""What `python -m tests.attacks` tries on the MCP server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strategy_core.processes.import_path import module_command, with_own_code
from strategy_core.processes.running_labs import TOKEN_VARIABLE
from tests.attacks.attempts import BY_USER, dns_rebinding, no_origin_and_no_token, refuse
from tests.attacks.victim import RUN, Victim
from tests.server_process import server_process
from tests.synthetic import write_run


@contextmanager
def agents_victim(folder: Path) -> Iterator[Victim]:
    """`strategy-lab mcp --http`, which serves routes of its own."""
    runs = folder / "runs"
    write_run(runs / RUN, steps=20, windows=1)
    environment = {name: text for name, text in os.environ.items() if name != TOKEN_VARIABLE}
    with server_process(
        folder / "mcp.log",
        "--runs",
        str(runs),
        program=(*module_command("strategy_core"), "mcp"),
        port_option="--http",
        environment=with_own_code(environment),
    ) as server:
        printed = server.log.read_text()
        token = printed.rpartition("Authorization: Bearer ")[2].strip()
        yield Victim(server.pid, server.port, token, runs, printed)


def agents_server(lab: Victim) -> None:
    """A page, or a program without the token, opens a session of `strategy-lab mcp --http`."""
    accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    token = {"Authorization": f"Bearer {lab.token}"}
    owner = accepted | token
    assert lab.ask("/mcp", owner, method="POST", body=_INITIALIZE).status == 200
    own = {"Origin": f"http://{lab.host}"}
    for target in ("/mcp", "/mcp/", "/", "/sse", "//mcp", "/mcp?token=x", "/_stcore/health"):
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            for headers in ({}, own, {"Authorization": "Bearer "}, {"Authorization": "Bearer x"}):
                answer = lab.ask(target, accepted | headers, method=method, body=_INITIALIZE)
                refuse(answer, 401)
                assert "access-control-allow-origin" not in answer.headers
            for origin in ("https://evil.example", "http://127.0.0.1:9", "null"):
                foreign = owner | {"Origin": origin}
                refuse(lab.ask(target, foreign, method=method, body=_INITIALIZE), 403)
            for host in (f"evil.example:{lab.port}", "evil.example", "127.0.0.1:9"):
                rebound = owner | {"Host": host, "Origin": f"http://{host}"}
                refuse(lab.ask(target, rebound, method=method, body=_INITIALIZE), 403)
        assert lab.listen(target) in ("HTTP 401", "HTTP 403", "closed 4401"), target


_INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "attacker", "version": "1"},
        },
    }
).encode()
"""The first message of a client; every other one needs the session that its answer names."""

LABS = {
    "strategy-lab mcp --http": (
        agents_victim,
        (agents_server, no_origin_and_no_token, dns_rebinding, *BY_USER),
    )
}
