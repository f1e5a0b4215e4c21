"""A page that is asked for gets a head start; nothing else does."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app import state
from app.head_start import PARTS, SCRIPTS, HeadStart, preloads, read_asked_runs
from profiles.errors import RunFolderError
from tests.app.asgi import Client
from tests.synthetic import write_run

PAGE = {"accept": "text/html,application/xhtml+xml", "sec-fetch-site": "none"}


@pytest.fixture(autouse=True)
def lab(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    state.configure(tmp_path / "runs")


class _Asked:
    """Stands for what reads the runs: keeps what it was asked for."""

    def __init__(self) -> None:
        self.queries: list[Mapping[str, str]] = []
        self.done = threading.Event()

    def __call__(self, query: Mapping[str, str]) -> None:
        self.queries.append(query)
        self.done.set()
        raise RunFolderError("A run is a folder in the runs folder", "nothing of the kind")


def _client(asked: _Asked) -> Client:
    async def answer(_request: object) -> PlainTextResponse:
        return PlainTextResponse("page")

    inner = Starlette(routes=[Route("/{path:path}", answer)])
    return Client(HeadStart(inner, asked))


def test_streamlit_still_has_every_part_that_is_loaded_ahead() -> None:
    for part in PARTS:
        assert list(SCRIPTS.glob(f"{part}.*.js")), f"Streamlit has no script {part} any more"


def test_the_parts_and_what_they_import_are_named_once() -> None:
    names = re.findall(r"</static/js/([^>]+)>; rel=modulepreload", preloads().decode())
    assert len(names) == len(set(names)) >= len(PARTS)
    assert all((SCRIPTS / name).is_file() for name in names)
    assert b"fetchpriority=low" in next(
        link for link in preloads().split(b", ") if b"PlotlyChart" in link
    )


def test_the_run_of_a_page_is_read_while_the_browser_starts() -> None:
    asked = _Asked()
    answer = _client(asked).get("/overview?run=one%20two", PAGE)
    assert asked.done.wait(30)
    assert asked.queries == [{"run": "one two"}]
    assert answer.text == "page"
    assert "PlotlyChart" in (answer.headers or {})["link"]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/overview", PAGE),
        ("/static/js/some.js?run=one", PAGE),
        ("/overview?run=one", {"accept": "application/json"}),
        ("/overview?run=one", PAGE | {"sec-fetch-site": "cross-site"}),
        ("/overview?run=one", PAGE | {"host": "rebound.example"}),
    ],
)
def test_nothing_else_makes_the_server_read_a_run(path: str, headers: dict[str, str]) -> None:
    asked = _Asked()
    assert _client(asked).get(path, headers).text == "page"
    assert not [thread for thread in threading.enumerate() if thread.name == "head-start"]
    assert not asked.queries


def test_only_runs_of_the_runs_folder_are_read(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "one", steps=5, windows=0)
    write_run(tmp_path / "secret", steps=5, windows=0)
    read_asked_runs({"run": "one", "step": "3"})
    with pytest.raises(RunFolderError):
        read_asked_runs({"a": "../secret"})
