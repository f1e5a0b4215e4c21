"""The route of a predicted step: what it refuses, and no run outside of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette

from strategy_app.server import state
from strategy_app.server.routes import build_routes
from tests.app.asgi import Client
from tests.synthetic import write_run


@pytest.fixture
def client(tmp_path: Path) -> Client:
    write_run(tmp_path / "runs" / "one", steps=40, windows=2, straggler=(2, 30.0))
    write_run(tmp_path / "secret" / "run", steps=5, windows=0)
    state.configure(tmp_path / "runs")
    return Client(Starlette(routes=build_routes()))


@pytest.mark.parametrize("name", ["..%2fsecret%2frun", "%2e%2e", "missing", "%00", "x" * 300])
def test_nothing_outside_the_runs_folder_can_be_named(name: str, client: Client) -> None:
    answer = client.get(f"/api/runs/{name}/predicted?segment=0&edit=input-free")
    assert answer.status in (400, 404)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("segment=0&edit=input-free", "graph of segment 0 is missing"),
        ("segment=7&edit=input-free", "There is no segment 7"),
        ("segment=0&edit=slower", "names no edit of a step"),
        ("segment=0", "names no edit of a step"),
        ("segment=x&edit=input-free", "is to be the number of a segment"),
    ],
)
def test_a_step_that_cannot_be_predicted_is_refused_in_a_sentence(
    query: str, problem: str, client: Client
) -> None:
    answer = client.get(f"/api/runs/one/predicted?{query}")
    assert answer.status == 400
    assert problem in answer.json()["error"]
