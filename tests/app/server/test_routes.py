"""The lab's own routes: what names a run, and what comes back."""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from starlette.applications import Starlette

from strategy_app.server import state
from strategy_app.server.routes import build_routes, close_reason
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.manifest import change_run_file, uid_of
from strategy_profiles.run.stamp import stamp_of
from strategy_profiles.timeline import opening
from tests.app.asgi import Client
from tests.synthetic import HOSTILE, write_run

PATHS = [
    "timeline",
    "spans?from=0&to=1&px=10",
    "search?text=x",
    "selection?from=0&to=1",
    "flows?row=0&start=0",
    "critical_path?step=0",
    "slack?row=0&start=0",
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs and a run outside of it, written once; each test has a copy."""
    folder = tmp_path_factory.mktemp("written")
    write_run(folder / "runs" / "one", steps=40, windows=2, straggler=(2, 30.0))
    write_run(folder / "runs" / "hostile", steps=20, windows=1, prefix=HOSTILE)
    write_run(folder / "runs" / "bare", steps=5, windows=0)
    write_run(folder / "secret" / "run", steps=5, windows=0)
    return folder


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("long") / "long", steps=200, windows=9)


@pytest.fixture
def client(tmp_path: Path, written: Path) -> Client:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    runs = tmp_path / "runs"
    state.configure(runs)
    return Client(Starlette(routes=build_routes()))


def test_the_server_says_that_it_is_well(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}


def test_the_lab_page_has_an_address_like_the_others(client: Client) -> None:
    answer = client.get("/lab?run=one")
    assert answer.status == 307
    assert answer.headers["location"] == "./?run=one"  # a proxy may serve the lab below a prefix


@pytest.mark.parametrize(
    "name", ["..%2fsecret%2frun", "%2e%2e", "missing", "..%5csecret", "%00", "x" * 300, "é" * 200]
)
@pytest.mark.parametrize("path", PATHS)
def test_nothing_outside_the_runs_folder_can_be_named(path: str, name: str, client: Client) -> None:
    assert client.get(f"/api/runs/{name}/{path}").status in (400, 404)


def test_a_listener_goes_on_from_its_cursor(client: Client) -> None:
    first = client.listen("/api/runs/one/stream").json()
    assert len(first["steps"]) == 40
    again = client.listen(f"/api/runs/one/stream?cursor={first['cursor']}").json()
    assert again["steps"] == []


def test_what_a_client_says_to_a_stream_does_not_matter(client: Client) -> None:
    answer = client.listen("/api/runs/one/stream", says=["hello", b"\x00", "", b""])
    assert len(answer.json()["steps"]) == 40


def test_a_run_that_is_not_there_closes_the_stream(client: Client) -> None:
    assert client.listen("/api/runs/missing/stream").closed == 4404


def test_spans_come_as_columns(client: Client) -> None:
    described = client.get("/api/runs/one/timeline").json()
    assert [track["replica"] for track in described["tracks"]] == [0, 1, 2, 3]
    data = client.get(f"/api/runs/one/spans?from=0&to={described['length_ns']}&px=1200").body
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length])
    start = np.frombuffer(data, "<f8", header["count"], 4 + length)
    assert header["count"] > 0
    assert (4 + length) % 8 == 0
    assert start.min() >= 0
    assert start.max() < described["length_ns"]


def test_a_long_run_is_described_where_it_opens_then_as_a_whole(
    client: Client, long_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "FEWEST_SPANS", 1)
    shutil.copytree(long_run, state.lab().runs / "long")
    spans = "/api/runs/long/spans?from=0&to=9000000000&px=1000"
    first = client.get("/api/runs/long/timeline?opening=1&step=1").json()
    assert first["read"]
    assert first["num_spans"] < first["num_recorded"]
    part = client.get(f"{spans}&identity={first['identity']}&part={first['version']}")
    assert part.status == 200
    whole = client.get("/api/runs/long/timeline").json()
    assert whole["read"] is None
    assert whole["num_spans"] == whole["num_recorded"] == first["num_recorded"]
    assert whole["version"] != first["version"]
    assert len(client.get(spans).body) > len(part.body)
    assert client.get("/api/runs/long/timeline?opening=1&step=1").json() == whole
    assert client.get(f"{spans}&part=another").status == 409


@pytest.mark.parametrize("query", ["op=0.5", "range=1-2&tracks=0", "edit=input-free"])
def test_a_link_to_an_op_or_a_range_of_a_long_run_opens_on_some_of_its_spans(
    query: str, client: Client, long_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "FEWEST_SPANS", 1)
    shutil.copytree(long_run, state.lab().runs / "long")
    assert client.get(f"/api/runs/long/timeline?opening=1&step=1&{query}").json()["read"]


@pytest.mark.parametrize(
    "query", ["", "from=a&to=1&px=1", "from=0&to=nan&px=1", "from=0&to=1e99&px=9"]
)
def test_a_range_without_finite_numbers_is_refused_with_the_rule(
    query: str, client: Client
) -> None:
    answer = client.get(f"/api/runs/one/spans?{query}")
    assert answer.status == 400
    assert "is not a finite number" in answer.json()["error"]


def test_a_run_without_captures_has_no_tracks(client: Client) -> None:
    described = client.get("/api/runs/bare/timeline").json()
    assert described["num_spans"] == 0
    assert client.get("/api/runs/bare/spans?from=0&to=9&px=9").status == 200


def test_search_finds_by_op_whatever_the_case(client: Client) -> None:
    found = client.get("/api/runs/one/search?text=COLLECTIVE").json()
    assert found["count"] == 2 * 10 * 4 * 2


def test_a_selection_is_of_the_tracks_that_it_names(client: Client) -> None:
    described = client.get("/api/runs/one/timeline").json()
    query = f"selection?from={described['steps']['start'][0]}&to={described['steps']['end'][0]}"
    whole = client.get(f"/api/runs/one/{query}").json()
    part = client.get(f"/api/runs/one/{query}&tracks=2&by=type").json()
    assert [replica["replica"] for replica in whole["replicas"]] == [0, 1, 2, 3]
    assert [replica["replica"] for replica in part["replicas"]] == [2]
    assert {op["name"] for op in part["ops"]} == {""}
    assert client.get("/api/runs/one/selection?from=0&to=nan").status == 400
    none = client.get(f"/api/runs/one/{query}&tracks={'9' * 5000},x").json()
    assert none["replicas"] == []


def test_spans_of_a_run_that_was_recorded_again_are_refused(client: Client) -> None:
    described = client.get("/api/runs/one/timeline").json()
    query = f"spans?from=0&to=1000000000&px=100&identity={described['identity']}"
    assert client.get(f"/api/runs/one/{query}").status == 200
    runs = state.lab().runs
    shutil.rmtree(runs / "one")
    write_run(runs / "one", steps=40, windows=1)
    assert client.get(f"/api/runs/one/{query}").status == 409
    again = client.get("/api/runs/one/timeline").json()
    assert again["identity"] != described["identity"]
    assert again["version"] != described["version"]
    assert again["num_spans"] < described["num_spans"]


def test_answers_of_a_run_do_not_outlive_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "one", steps=5, windows=0)
    before = stamp_of(run)
    times = {path: path.stat().st_mtime_ns for path in (run, *run.rglob("*"))}
    # A run of the same length, at the same time.
    change_run_file(run, {"uid": uid_of(run)[::-1]})
    for path, mtime_ns in times.items():
        os.utime(path, ns=(mtime_ns, mtime_ns))
    assert stamp_of(run) != before


def test_the_reason_of_a_close_fits_its_frame_in_any_language() -> None:
    reason = close_reason(RunFolderError("Lauf größer " + "運行" * 60))
    assert len(reason.encode()) <= 123
    assert reason.startswith("Lauf größer 運行")


def test_why_the_slack_of_an_op_is_not_known_is_an_answer(client: Client) -> None:
    """A browser writes each refused request into its console; many runs have no graph."""
    spans = state.lab().timelines.get("one")
    start = int(spans.start[spans.row_starts[0]])
    answer = client.get(f"/api/runs/one/slack?row=0&start={start}")
    assert answer.status == 200
    assert answer.json()["reason"].startswith("The graph of segment 0 is missing")
