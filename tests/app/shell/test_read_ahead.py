"""A run is read when its page is requested, before Streamlit runs the page."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from strategy_app.screen.answer import answer_of
from strategy_app.server import opened, timelines
from strategy_app.shell import read_ahead
from strategy_app.shell.read_ahead import ReadAhead
from strategy_app.widgets import segments, side_comparison, verdict
from strategy_app.widgets.run_list import row_of
from strategy_app.widgets.runs_folder import list_runs
from strategy_profiles.analysis.run_row import RunRow
from strategy_profiles.questions.input_stages import input_pipeline
from strategy_profiles.questions.step_memory import memory_over_step
from tests.app.asgi import Client
from tests.app.looking import open_page, text_of
from tests.synthetic import write_run


class _AtOnce(Executor):
    def __init__(self, *_: object) -> None:
        pass

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        fn(*args, **kwargs)
        return Future()


async def _page(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"<html>"})


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(read_ahead, "ThreadPoolExecutor", _AtOnce)
    return Client(ReadAhead(_page))


def test_the_overview_finds_its_run_read_and_its_question_answered(
    client: Client, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_ahead.state.configure(lab)
    write_run(lab / "mine")
    assert client.get("/overview?run=mine").body == b"<html>"

    def reads_again(*_: object) -> None:
        raise AssertionError("the run was not read ahead")

    monkeypatch.setattr(opened, "_open", reads_again)
    found = opened.open_run(lab / "mine")
    monkeypatch.setattr(segments, "gather_facts", reads_again)
    monkeypatch.setattr(verdict, "findings_with_gains", reads_again)
    segment = found.profile.segments[-1].segment
    assert found.ask(segments.facts_of, segment).steps.count
    assert len(verdict.with_gains(found, segment)) > 0
    for asked_last in (memory_over_step, input_pipeline):
        known = asked_last.__module__.rpartition(".")[2]
        monkeypatch.setattr(f"strategy_profiles.analysis.{known}.of_segment", reads_again)
        assert answer_of(found, asked_last, segment).parts


def test_the_timeline_finds_its_spans_laid_out(
    client: Client, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_ahead.state.configure(lab)
    write_run(lab / "mine")
    assert client.get("/timeline?run=mine").body == b"<html>"

    def lays_out_again(*_: object) -> None:
        raise AssertionError("the timeline was not laid out ahead")

    monkeypatch.setattr(timelines, "lay_out", lays_out_again)
    assert read_ahead.state.lab().timelines.describe("mine")["num_spans"] > 0


def test_compare_finds_its_two_runs_compared(
    client: Client, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_ahead.state.configure(lab)
    write_run(lab / "one")
    write_run(lab / "other")
    assert client.get("/compare?a=one&b=other").status == 200

    def compares_again(*_: object, **_options: object) -> None:
        raise AssertionError("the runs were not compared ahead")

    monkeypatch.setattr(side_comparison, "compare_sets", compares_again)
    page = open_page("compare", lab, a="one", b="other")
    assert "Every figure" in text_of(page)


def test_the_list_of_runs_finds_its_rows_read(
    client: Client, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_ahead.state.configure(lab)
    write_run(lab / "mine")
    (lab / "damaged").mkdir()
    (lab / "damaged" / "run.json").write_text("{")
    assert client.get("/runs").status == 200

    def reads_again(*_: object) -> None:
        raise AssertionError("the run was not read ahead")

    monkeypatch.setattr(opened, "_open", reads_again)
    entry = next(entry for entry in list_runs(lab) if entry.name == "mine")
    assert isinstance(row_of(entry), RunRow)


def test_runs_that_cannot_be_compared_do_not_disturb_the_page(client: Client, lab: Path) -> None:
    read_ahead.state.configure(lab)
    write_run(lab / "one")
    assert client.get("/compare?a=one&b=nope").status == 200
    assert client.get("/compare?a=one&b=one").status == 200


@pytest.mark.parametrize("query", ["?run=../..", "?run=", "?run=nope", "?a=%00&b=x", "", "?run"])
def test_a_request_that_names_no_run_is_answered_as_ever(
    client: Client, lab: Path, query: str
) -> None:
    read_ahead.state.configure(lab)
    assert client.get(f"/overview{query}").status == 200
