"""Every tool of the MCP server, and every text of a page or the environment: hostile values."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from strategy_app.access.policy import choose_token
from strategy_app.mcp_server.answers import Answers
from strategy_app.mcp_server.server import build_server
from strategy_app.mcp_server.starting import Starting
from strategy_core.cluster.discovery.resolve import resolve
from strategy_core.contexts import child
from strategy_core.planning import data_path, strategy_catalog, workload_catalog
from strategy_core.processes import running_labs
from strategy_core.processes.running_labs import TOKEN_VARIABLE
from strategy_profiles.errors import LabError
from strategy_profiles.prediction.link import link_of
from strategy_profiles.run.rename import rename_run
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.tables.sql_process import ask_folder
from tests.app.mcp_server.connection import Connection, connected
from tests.doors.hostile import TEXTS, make_files, no_hang
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
    found = {name: set(tool.input_schema["properties"]) for name, tool in server.tools().items()}
    assert found == {name: set(arguments) for name, arguments in TOOLS.items()}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_answers_hostile_arguments(tool: str, server: Connection) -> None:
    files = {name: name for name in ("pipe", "device", "socket", "loop", "folder", "large")}
    values: dict[str, Any] = {k: v for k, v in TEXTS.items() if k != "half a character"}
    for argument in TOOLS[tool]:
        for what, value in (values | STRANGE | files).items():
            with no_hang(f"{tool} {argument} {what}"):
                answer = server._call(tool, TOOLS[tool] | {argument: value})
            text = " ".join(str(each.text) for each in answer.content if hasattr(each, "text"))
            assert "Traceback" not in text, (tool, argument, what)
            if answer.is_error:
                assert len(text) < 3000, (tool, argument, what, len(text))


def tried(take: Callable[[str], object], values: dict[str, str], what: str) -> None:
    """Each value is taken, or refused in a sentence."""
    for name, value in values.items():
        with no_hang(f"{what} {name}"):
            said = refusal(take, value)
        assert len(said) < 1500, (what, name)


def refusal(take: Callable[[str], object], value: str) -> str:
    try:
        take(value)
    except LabError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("what", "take"),
    [
        ("workload", workload_catalog.find),
        ("data", data_path.check),
        ("topology", lambda text: RunSpec().with_changes({"tpu.topology": text})),
        ("devices", lambda text: RunSpec().with_changes({"devices": text})),
        ("a file of hardware", lambda text: link_of(text.encode(errors="replace"), text)),
    ],
)
def test_a_text_of_a_page_is_refused_in_a_sentence(
    what: str, take: Callable[[str], object], tmp_path: Path
) -> None:
    suffix = {"workload": ".py", "data": ".npz"}.get(what, "")
    files = {name: str(path) for name, path in make_files(tmp_path / "h", suffix).items()}
    tried(take, TEXTS | files | {"null": "a\0b", "unknown user": "~nosuchuser/x"}, what)


def test_a_new_name_is_refused_in_a_sentence(tmp_path: Path) -> None:
    def take(text: str) -> None:
        run = write_run(tmp_path / "runs" / "one", steps=2, windows=0)
        try:
            assert rename_run(run, text).parent == run.parent
        finally:
            shutil.rmtree(run.parent)

    tried(take, TEXTS, "name")


def test_a_program_of_the_editor_that_is_too_long_starts_nothing() -> None:
    with pytest.raises(LabError, match="more than the"):
        child.start(TEXTS["long"], strategy="mirrored", devices="cpu:2")


def test_a_query_is_refused_in_a_sentence(runs: Path) -> None:
    values = {name: TEXTS[name] for name in ("digits", "deep", "long", "half a character", "empty")}
    tried(lambda text: ask_folder(runs / "one", text), values, "query")


def test_tf_config_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def take(text: str) -> None:
        monkeypatch.setenv("TF_CONFIG", text[:100_000])
        resolve("TF_CONFIG")

    nested = '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": %s}}'
    more = {
        f"index {k}": nested % v for k, v in TEXTS.items() if k in ("digits", "deep", "no number")
    }
    tried(take, {k: v for k, v in (TEXTS | more).items() if k != "half a character"}, "TF_CONFIG")


def test_a_token_is_refused_in_a_sentence() -> None:
    tried(lambda text: choose_token({TOKEN_VARIABLE: text}), TEXTS, "token")
    with pytest.raises(LabError):
        choose_token({TOKEN_VARIABLE: "a" * 10_000})


def test_a_folder_of_strategies_with_pipes_is_refused_in_a_sentence(
    tmp_path: Path,
) -> None:
    for name, path in make_files(tmp_path / "hostile", ".py").items():
        if len(path.name) > 200 or len(str(path)) > 1000 or name == "missing":
            continue
        with no_hang(f"strategy {name}"), pytest.raises(LabError, match="cannot be read"):
            strategy_catalog.read_row(path)


def test_a_record_of_a_lab_may_be_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`trace --live` and the TensorBoard tab look for a running lab there."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / "strategy-lab"
    made = make_files(folder)
    for name, path in made.items():
        if path.parent == folder and len(path.name) < 200 and name not in ("missing", "loop"):
            place = folder / f"lab-{running_labs.socket.gethostname()}-{len(name)}.json"
            place.unlink(missing_ok=True)
            path.rename(place)
            if place.is_dir():
                place.rmdir()
                continue
            with no_hang(f"lab {name}"):
                assert running_labs.address_of(tmp_path) is None
                assert running_labs.page_of_process(len(name)) is None
