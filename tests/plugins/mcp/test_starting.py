"""Over HTTP, with the token alone, and with --allow-run an agent starts and stops a real run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles import load
from tests import lab_access
from tests.plugins.mcp.connection import connected, over_stdio
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.slow

SPEC = {"devices": "cpu:2", "global_batch_size": 32, "workload": "digits-mlp", "steps": None}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of `strategy-lab mcp --http 0`, as it prints it."""
    write_run(tmp_path / "runs" / "one", steps=40)
    process = subprocess.Popen(
        [*module_command("strategy_core"), "mcp", "--http", "0"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=with_own_code(lab_access.environment()),
    )
    try:
        assert process.stderr is not None
        address_line = re.match(r"MCP at (http://127\.0\.0\.1:\d+/mcp)$", process.stderr.readline())
        assert address_line
        assert lab_access.TOKEN in process.stderr.readline()
        url = address_line[1]
        wait_until(lambda: _answers(url))
        yield url
    finally:
        process.terminate()
        process.wait(MAX_WAIT_S)


def test_http_answers_only_to_the_token_and_to_its_own_address(served: str) -> None:
    accept = {"accept": "application/json, text/event-stream"}
    assert httpx2.post(served, json=CALL, headers=accept).status_code == 401
    for foreign in ({"host": "attacker.example"}, {"origin": "http://attacker.example"}):
        headers = lab_access.HEADERS | accept | foreign
        assert httpx2.post(served, json=CALL, headers=headers).status_code == 403
    client = httpx2.AsyncClient(headers=lab_access.HEADERS)
    with connected(streamable_http_client(served, http_client=client)) as agent:
        assert agent.ask("list_runs")["num_runs"] == 1


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url).status_code == 401
    except httpx2.TransportError:
        return False


@pytest.mark.run
def test_an_agent_starts_waits_for_and_stops_runs_where_it_is_allowed(tmp_path: Path) -> None:
    with over_stdio(tmp_path, "--allow-run") as agent:
        assert agent.ask("devices")["physical"][0]["kind"] == "CPU"
        refused = agent.refusal("start_run", spec={"strategy": "no-such"})
        assert "strategy" in refused
        assert "Traceback" not in refused
        assert "cannot be the name" in agent.refusal("start_run", spec=SPEC, name="../out")

        assert agent.ask("start_run", spec=SPEC, name="stopped")["run"] == "stopped"
        assert agent.ask("wait_for_run", run="stopped", timeout_s=0.1)["status"] == "running"
        assert "still running" in agent.refusal("start_run", spec=SPEC)
        ended = agent.ask("stop_run", run="stopped", timeout_s=MAX_WAIT_S)
        assert ended["status"] == "stopped"
        assert agent.ask("summary", run="stopped")["status"] == "stopped"

        # What an agent pays for. Indented and with every detail they were 26,000 bytes each.
        assert len(agent.text("tables", run="stopped").encode()) < 2_500
        assert len(agent.text("summary", run="stopped").encode()) < 6_000
        assert len(agent.text("summary", run="stopped", details="all").encode()) > 6_000

        agent.ask("start_run", spec=SPEC, name="left")
    # The agent has left: so has the run.
    assert load(tmp_path / "runs" / "left").status.state != "running"
