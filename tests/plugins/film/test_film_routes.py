"""The address of a film, and why a run has none."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette

import strategy_profiles
from strategy_app.server import state
from strategy_app.server.routes import build_routes
from strategy_film import why_no_film
from strategy_profiles.analysis.no_capture import why_no_capture
from tests.app.asgi import Client
from tests.app.looking import open_page, text_of
from tests.plugins.leaves import REPOSITORY
from tests.synthetic import write_run

IMPORTED = REPOSITORY / "tests" / "data" / "imported"


@pytest.fixture
def client(tmp_path: Path) -> Client:
    write_run(tmp_path / "one", steps=20, windows=1)
    state.configure(tmp_path)
    return Client(Starlette(routes=build_routes()))


@pytest.mark.parametrize("step", ["x", "", "1.5", "-1", "%3Cb%3E", "9" * 30])
def test_a_step_that_is_no_number_is_named_and_no_other_step_is_shown(
    step: str, client: Client
) -> None:
    answer = client.get(f"/report/one/film?step={step}")
    assert answer.status == 400
    said = answer.json()["error"]
    assert said.startswith(f"step={unquote(step)!r} is ")
    assert "Name a captured step by its number" in said


def test_the_film_of_a_step_or_of_the_usual_one(client: Client) -> None:
    assert client.get("/report/one/film").status == 200
    assert (
        "Step 3000 of this run is not captured"
        in client.get("/report/one/film?step=3000").json()["error"]
    )


def test_a_run_without_a_step_has_no_film(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=0, windows=0, ending="failed")
    profile = strategy_profiles.load(run)
    assert why_no_film(profile) == why_no_capture(profile)


def test_an_imported_profile_without_steps_offers_no_film_and_no_new_run(tmp_path: Path) -> None:
    shutil.copytree(IMPORTED / "gpu_gemm", tmp_path / "without-steps")
    page = open_page("film", tmp_path, run="without-steps")
    assert "A film needs a step" in text_of(page)
    labels = [link.label for link in page.get("page_link")]
    assert labels[-2:] == ["All steps", "Step film"]
