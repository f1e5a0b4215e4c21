"""An agent reads runs over stdio, with the official client and a real `strategy-lab mcp`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_core.cli.main import main
from strategy_profiles.extras import Extra
from strategy_profiles.tables.schema import COLUMNS
from tests.plugins.mcp.connection import Connection, over_stdio
from tests.synthetic import HOSTILE, write_run

pytestmark = pytest.mark.slow

READING = {"list_runs", "summary", "findings", "definitions", "tables", "sql", "compare"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agent")
    write_run(folder / "runs" / "even", steps=120)
    write_run(folder / "runs" / "late", steps=120, straggler=(2, 30.0))
    write_run(folder / "runs" / "odd", prefix=HOSTILE, missing=("environment",))
    return folder


@pytest.fixture(scope="module")
def agent(folder: Path) -> Iterator[Connection]:
    with over_stdio(folder) as connection:
        yield connection


def test_only_reading_is_offered_unless_runs_are_allowed(agent: Connection) -> None:
    tools = agent.tools()
    assert set(tools) == READING
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
    assert "Unknown tool" in agent.refusal("start_run", spec={})


def test_runs_are_listed_with_their_status(agent: Connection) -> None:
    runs = agent.ask("list_runs")
    assert runs["num_runs"] == 3
    by_name = {run["run"]: run for run in runs["runs"]}
    assert by_name["late"]["status"] == "finished"
    assert by_name["late"]["spec"]["strategy"] == "mirrored"
    assert len(agent.ask("list_runs", limit=1)["runs"]) == 1


@pytest.mark.parametrize("run", ["even", "late", "odd"])
def test_a_summary_is_the_one_of_the_command_line(
    agent: Connection, folder: Path, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", str(folder / "runs" / run), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert agent.ask("summary", run=run, details="all") == document
    short = agent.ask("summary", run=run)
    left_out = short.pop("left_out")
    assert {"key_numbers", "placement"} <= set(left_out)
    for part, whole in zip(_parts(short), _parts(document), strict=True):
        assert part == {
            key: value for key, value in whole.items() if key not in left_out or not value
        }
    added = agent.ask("summary", run=run, details=left_out)
    assert added.pop("left_out") == []
    assert added == document


def _parts(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of a summary beside its segments, then each segment."""
    return [{**document, "segments": None}, *document["segments"]]


def test_findings_name_the_late_replica_with_evidence(agent: Connection) -> None:
    (segment,) = agent.ask("findings", run="late")["segments"]
    late = next(item for item in segment["findings"] if item["key"] == "straggler")
    assert "Replica 2" in late["sentence"]
    assert late["evidence"]["late_ms"] == pytest.approx(30, abs=1)
    assert late["advice"]


def test_every_key_number_of_a_run_has_its_definition(agent: Connection) -> None:
    (segment,) = agent.ask("findings", run="even")["segments"]
    defined = {item["key"] for item in agent.ask("definitions")["figures"]}
    assert {item["key"] for item in segment["key_numbers"]} <= defined
    about = agent.ask("definitions", about="busbw")
    assert about["figures"][0]["key"] == "busbw"


def test_sql_answers_rows_and_says_when_there_are_more(agent: Connection, folder: Path) -> None:
    query = "select step, wall_ms from steps order by step"
    answer = agent.ask("sql", run="late", query=query, limit=5)
    expected = strategy_profiles.load(folder / "runs" / "late").sql(f"{query} limit 5").to_pylist()
    assert answer == {"columns": ["step", "wall_ms"], "rows": expected, "is_cut": True}
    odd = agent.ask("sql", run="late", query="select 'nan'::double as x, date '2026-01-02' as d")
    assert odd["rows"] == [{"x": None, "d": "2026-01-02"}]


def test_tables_are_listed_and_the_columns_of_one_described(agent: Connection) -> None:
    tables = agent.ask("tables")
    assert tables["steps"] == {"one_row_per": "step"}
    assert set(tables) == set(COLUMNS)
    counts = (f"select '{table}' as name, count(*) as num_rows from {table}" for table in tables)
    counted = agent.ask("sql", run="late", query=" union all ".join(counts))["rows"]
    assert {row["name"]: row["num_rows"] for row in counted} == {
        table: entry["num_rows"] for table, entry in agent.ask("tables", run="late").items()
    }
    columns = {
        column["name"]: column for column in agent.ask("tables", table="steps")["steps"]["columns"]
    }
    assert columns["wall_ms"] == {
        "name": "wall_ms",
        "type": "number",
        "unit": "ms",
        "about": "from asking for the batch until the result is there",
    }
    assert columns["loss"]["may_be_null"] is True


def test_a_comparison_is_the_one_of_the_command_line(
    agent: Connection, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(folder / "runs" / name) for name in ("even", "late")]
    assert main(["compare", *paths, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert agent.ask("compare", a=["even"], b=["late"]) == output
    assert agent.ask("compare", a="even", b="late") == output


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("summary", {"run": "../late"}, "There is no run '../late' in the runs folder"),
        ("summary", {"run": "/etc"}, "There is no run"),
        ("sql", {"run": "late", "query": "drop table steps"}, "not a single reading statement"),
        ("sql", {"run": "late", "query": "from read_csv('/etc/passwd')"}, "DuckDB refuses"),
        ("compare", {"a": ["even"], "b": ["none"]}, "There is no run 'none'"),
        ("definitions", {"about": "no such word"}, "No definition mentions"),
        (
            "sql",
            {"run": "late", "query": "from steps", "top": 5},
            "sql has no argument 'top'. It takes run, query, limit (optional).",
        ),
        ("tables", {"table": "step"}, "There is no table 'step'"),
        ("tables", {"run": "none"}, "There is no run 'none'"),
        ("summary", {"run": "late", "details": "links, cores"}, "has no detail 'links, cores'"),
        (
            "summary",
            {},
            "run: it has no value, and no default. It takes run, details (optional).",
        ),
        ("list_runs", {"limit": 0}, "limit: it must be at least 1"),
        ("list_runs", {"limit": "all"}, "limit: it must be a whole number"),
    ],
)
def test_a_question_without_an_answer_gets_a_sentence(
    agent: Connection, tool: str, arguments: dict[str, object], said: str
) -> None:
    refusal = agent.refusal(tool, **arguments)
    assert said in refusal
    assert "Traceback" not in refusal
    assert "\n" not in refusal


def test_without_the_extra_the_verb_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Extra, "is_installed", False)
    assert main(["mcp"]) == 2
    errors = capsys.readouterr().err
    assert "pip install 'strategy-lab[mcp]'" in errors
    assert errors.count("\n") == 1
