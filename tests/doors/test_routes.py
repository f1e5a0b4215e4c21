"""Every route and WebSocket of the lab, with a stranger's values."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute

from strategy_app.server import chart_library, state
from strategy_app.server.routes import build_routes
from strategy_profiles.exports import step_pages
from strategy_profiles.registered import registered
from tests.app.asgi import Answer, Client
from tests.doors.code import PACKAGES
from tests.doors.hostile import TEXTS, make_files, no_hang
from tests.plugins.leaves import from_doors
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

LONGEST_ADDRESS = 60_000
"""The server's parser refuses longer ones."""
ROUTES: dict[str, dict[str, str]] = {
    "/healthz": {},
    "/lab": {"run": "one"},
    "/report/{run}/{format}": {"step": "5"},
    "/api/runs/{run}/timeline": {"opening": "1", "step": "5", "view": "0-100"},
    "/api/runs/{run}/spans": {"from": "0", "to": "1", "px": "9", "identity": "x", "part": "0"},
    "/api/runs/{run}/search": {"text": "x"},
    "/api/runs/{run}/selection": {"from": "0", "to": "1", "tracks": "0,1", "by": "type"},
    "/api/runs/{run}/flows": {"row": "0", "start": "0"},
    "/api/runs/{run}/same_op": {"row": "0", "start": "0"},
    "/api/runs/{run}/critical_path": {"step": "5"},
    "/api/runs/{run}/slack": {"row": "0", "start": "0"},
    f"/{chart_library.ADDRESS}": {},
}
for routes in from_doors("ROUTES"):
    ROUTES |= routes
SOCKETS: dict[str, dict[str, str]] = {
    "/api/here": {},
    "/api/runs/{run}/stream": {"cursor": "launcher.jsonl:1"},
}
GOOD = {
    "run": "one",
    "format": next(iter(step_pages()), "film"),
    "command": "back",
    "code": "CODE23",
    "scene": "0",
    "choice": "1",
}
GOOD["format"] = next(iter(step_pages()), "none")
WAITS = {path: place for waits in from_doors("WAITS") for path, place in waits.items()}
"""Answered when there is something new; a small number would wait for that."""
PREFIXES = ("packs=", "link=", "batch=", "algorithm=", "faster=")
"""Of the texts of an edit."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Starlette:
    runs = tmp_path_factory.mktemp("routes") / "runs"
    write_run(runs / "one", steps=30, windows=1)
    for name, path in make_files(runs.parent / "hostile").items():
        if len(path.name) < 200 and len(str(path)) < 1000:
            (runs / name).symlink_to(path)
    state.configure(runs)
    return Starlette(routes=build_routes())


def test_every_route_is_listed() -> None:
    routes = build_routes()
    assert {each.path for each in routes if isinstance(each, Route)} == set(ROUTES)
    assert {each.path for each in routes if isinstance(each, WebSocketRoute)} == set(SOCKETS)


def test_every_parameter_is_listed() -> None:
    """What the code takes out of an address."""
    found: set[str] = set()
    added = [import_module(item.value.partition(":")[0]) for item in registered("routes").values()]
    for path in ((PACKAGES[0] / "server").glob("*.py"), (Path(str(m.__file__)) for m in added)):
        found |= {name for each in path for name in _parameters(each)}
    listed = {name for each in (ROUTES, SOCKETS) for query in each.values() for name in query}
    assert found == listed - {"run"}  # it is passed on


def _parameters(path: Path) -> set[str]:
    """The texts among the arguments of what reads an address."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and re.search(r"query(_params)?\.get$|^_number$", called):
            found |= {each.value for each in node.args if isinstance(each, ast.Constant)}
        if isinstance(node, ast.comprehension) and isinstance(node.iter, ast.Tuple):
            names = [each.value for each in node.iter.elts if isinstance(each, ast.Constant)]
            found |= {each for each in names if path.name == "timeline_routes.py"}
        if isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) == "query":
            found.add(ast.literal_eval(node.left))
    return {each for each in found if isinstance(each, str) and each}


def places(path: str, query: dict[str, str]) -> list[str]:
    return [*re.findall(r"{(\w+)", path), *query]


@pytest.mark.parametrize("path", ROUTES)
def test_a_route_answers_a_hostile_address(path: str, app: Starlette) -> None:
    method = "POST" if "{command}" in path else "GET"
    for place in places(path, ROUTES[path]):
        for what, address in addresses(path, ROUTES[path], place):
            with no_hang(f"{path} {place} {what}"):
                answer = Client(app, method=method).get(address)
            check(answer, f"{path} {place} {what}")


@pytest.mark.parametrize("path", SOCKETS)
def test_a_socket_answers_a_hostile_address(path: str, app: Starlette) -> None:
    for place in places(path, SOCKETS[path]):
        for what, address in addresses(path, SOCKETS[path], place):
            with no_hang(f"{path} {place} {what}"):
                answer = Client(app).listen(address, says=["x" * 100_000, b"\xff" * 100_000])
            assert answer.closed in (None, 1000, 4404), (path, place, what)


def addresses(path: str, query: dict[str, str], place: str) -> list[tuple[str, str]]:
    """Addresses with a hostile value in one place."""
    values = dict(TEXTS)
    if place == "run":
        values |= {name: name for name in ("pipe", "device", "socket", "loop", "folder", "large")}
    if place == "edit":
        values |= {f"{p}{k}": p + v for p in PREFIXES for k, v in TEXTS.items()}
    if WAITS.get(path) == place:
        del values["empty"]
    made = []
    for what, value in values.items():
        escaped = quote(value.encode("utf-8", "surrogatepass"), safe="")[:LONGEST_ADDRESS]
        filled = re.sub(
            r"{(\w+)[^}]*}",
            lambda found, text=escaped: text if found[1] == place else GOOD[found[1]],
            path,
        )
        given = "&".join(f"{k}={escaped if k == place else v}" for k, v in query.items())
        made.append((what, f"{filled}?{given}" if given else filled))
    return made


def check(answer: Answer, what: str) -> None:
    assert answer.status in (200, 307, 400, 404, 405, 409, 429), (what, answer.status)
    if answer.status >= 400:
        assert len(answer.body) < 5000, (what, len(answer.body))
        assert b"Traceback" not in answer.body, what
