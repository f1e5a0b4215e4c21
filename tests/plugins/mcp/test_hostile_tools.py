"""Every tool of the MCP server answers hostile arguments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strategy_mcp.answers import Answers
from strategy_mcp.server import build_server
from strategy_mcp.starting import Starting
from strategy_profiles.errors import LabError
from tests.doors.hostile import TEXTS, make_files, no_hang
from tests.plugins.mcp.connection import Connection, connected
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

TOOLS: dict[str, dict[str, Any]] = {
    "list_runs": {"limit": 1},
    "summary": {"run": "one", "details": "placement"},
    "findings": {"run": "one"},
    "definitions": {"about": "step"},
    "tables": {"table": "steps", "run": "one"},
    "sql": {"run": "one", "query": "select 1", "limit": 1},
    "compare": {"a": "one", "b": "one"},
    "devices": {},
    "start_run": {"spec": {"steps": 1}, "name": "two"},
    "wait_for_run": {"run": "one", "timeout_s": 0},
    "stop_run": {"run": "one", "timeout_s": 0},
}
STRANGE: dict[str, Any] = {
    "a number": 10**40,
    "no number": -1,
    "a list": ["x"] * 1000,
    "nested": {"a": {"b": {"c": [[[[]]]]}}},
    "nothing": None,
}


class NoLauncher:
    """Starts nothing."""

    active: tuple[()] = ()

    def launch(self, *_args: Any) -> None:
        raise LabError("A process would start")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    write_run(folder / "runs" / "one", steps=30, windows=1)
    for name, path in make_files(folder / "hostile").items():
        if len(path.name) < 200 and len(str(path)) < 1000:
            (folder / "runs" / name).symlink_to(path)
    return folder / "runs"


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Connection]:
    starting = Starting(runs, NoLauncher())  # type: ignore[arg-type]
    with connected(build_server(Answers(runs), starting)) as connection:
        yield connection


def test_every_tool_and_argument_is_listed(server: Connection) -> None:
    properties = {
        name: set(tool.input_schema["properties"]) for name, tool in server.tools().items()
    }
    assert properties == {name: set(arguments) for name, arguments in TOOLS.items()}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_answers_hostile_arguments(tool: str, server: Connection) -> None:
    files = {name: name for name in ("pipe", "device", "socket", "loop", "folder", "large")}
    values: dict[str, Any] = {k: v for k, v in TEXTS.items() if k != "half a character"}
    for argument in TOOLS[tool]:
        for case, value in (values | STRANGE | files).items():
            with no_hang(f"{tool} {argument} {case}"):
                answer = server._call(tool, TOOLS[tool] | {argument: value})
            text = " ".join(str(each.text) for each in answer.content if hasattr(each, "text"))
            assert "Traceback" not in text, (tool, argument, case)
            if answer.is_error:
                assert len(text) < 3000, (tool, argument, case, len(text))
