"""The page of TPU cores says what to do where a run has none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.cli.main import main
from strategy_profiles.exports import formats, write
from strategy_profiles.run.layout import worker_folder
from tests.app.looking import open_page, text_of
from tests.event_records import read_records, write_records
from tests.profiles.analysis.test_tpu_check import FINDING, check_event
from tests.synthetic import write_run

IMPORTED = Path(__file__).parents[3] / "data" / "imported"


def test_a_run_without_cores_says_so(tmp_path: Path) -> None:
    write_run(tmp_path / "plain", steps=20, windows=1)
    page = open_page("cores", tmp_path, run="plain")
    assert not page.exception
    assert "no TPU cores" in text_of(page)
    assert "Choose TPUStrategy for a new run" in text_of(page)


def test_every_core_has_its_own_time(tmp_path: Path) -> None:
    write_run(tmp_path / "cores", strategy="tpu", replicas=2, cores_per_replica=3, step_ms=12.0)
    page = open_page("cores", tmp_path, run="cores")
    assert not page.exception
    rows = next(frame.value for frame in page.dataframe)
    assert list(zip(rows["replica"], rows["core"], strict=True)) == [
        (replica, core) for replica in (0, 1) for core in (0, 1, 2)
    ]
    for replica in (0, 1):
        first, second, third = rows[rows["replica"] == replica]["compute"]
        assert second == pytest.approx(first / 2, rel=0.01)
        assert third == pytest.approx(first / 3, rel=0.01)


def test_times_of_captured_steps_unlike_the_others_are_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "cores", strategy="tpu", replicas=2, cores_per_replica=2, steps=60)
    said = "The captured steps took "
    assert said not in text_of(open_page("cores", tmp_path, run="cores"))
    log = worker_folder(run, 0, 0).events
    records = read_records(log)
    for record in records:
        if record["kind"] == "step" and not record["captured"]:
            record["wall_ms"] /= 2
    write_records(log, records)
    assert said in text_of(open_page("cores", tmp_path, run="cores"))


EXPANDED = {
    "kind": "cores",
    "segment": 0,
    "topology": [1, 1, 1, 2],
    "coordinates": [[[0, 0, 0, 0]], [[0, 0, 0, 1]]],
    "spmd": False,
    "num_ops": {},
    "partitioned": {},
    "fallbacks": [],
    "collectives": [],
    "moved_bytes": {"collective": 5000},
}


def test_the_headline_has_the_bytes_of_captured_steps_else_of_the_traced_one(
    tmp_path: Path,
) -> None:
    for name, windows in (("captured", 1), ("traced", 0)):
        run = write_run(tmp_path / name, strategy="tpu", replicas=2, windows=windows)
        with worker_folder(run, 0, 0).events.open("a") as log:
            log.write(json.dumps(EXPANDED) + "\n")
    captured, traced = (
        text_of(open_page("cores", tmp_path, run=n)) for n in ("captured", "traced")
    )
    assert "A step moves <b>4 B</b> between cores" in captured
    assert "The traced step moves <b>5.00 kB</b> between cores" in traced


def test_what_a_real_tpu_would_do_is_on_the_page(tmp_path: Path) -> None:
    run = write_run(tmp_path / "cores", strategy="tpu", replicas=2)
    with worker_folder(run, 0, 0).events.open("a") as log:
        log.write(check_event(unchecked=["the shapes of the rest"]))
    page = open_page("cores", tmp_path, run="cores")
    assert not page.exception
    text = text_of(page)
    assert "On a real TPU" in text
    assert "Would not compile" in text
    assert "Not checked: the shapes of the rest." in text
    assert "/home/me/model.py:12" in text.replace("\\", "")


def test_of_many_ops_that_a_tpu_refuses_the_first_are_in_full_and_all_are_there(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "cores", strategy="tpu", replicas=2)
    many = [FINDING | {"file": "/home/me/model.py", "line": line} for line in range(1, 31)]
    with worker_folder(run, 0, 0).events.open("a") as log:
        log.write(check_event(findings=many))
    page = open_page("cores", tmp_path, run="cores")
    assert not page.exception
    in_full = re.findall(r"model\.py:(\d+)", text_of(page).replace("\\", ""))
    in_table = [place.rpartition(":")[2] for place in page.dataframe[-1].value["where"]]
    assert list(map(int, [*in_full[:5], *in_table])) == list(range(1, 31))


def test_a_run_without_a_check_says_why(tmp_path: Path) -> None:
    write_run(tmp_path / "cores", strategy="tpu", replicas=2)
    page = open_page("cores", tmp_path, run="cores")
    assert "Not checked: the run ended before its first step" in text_of(page)


def test_without_a_run_in_the_address_it_opens_on_the_newest_with_cores(tmp_path: Path) -> None:
    write_run(tmp_path / "cores", strategy="tpu", replicas=2, cores_per_replica=2, steps=20)
    write_run(tmp_path / "another", steps=20, windows=1)
    page = open_page("cores", tmp_path)
    assert page.query_params["run"] == "cores"


def test_an_imported_profile_says_why_it_has_no_cores() -> None:
    page = open_page("cores", IMPORTED, run="tpu_psum")
    assert "A profile does not say which cores are one replica" in text_of(page)


def test_the_page_of_an_empty_folder_names_the_strategy(tmp_path: Path) -> None:
    page = open_page("cores", tmp_path)
    assert "No run yet" in text_of(page)
    assert "TPUStrategy" in text_of(page)


@pytest.mark.skipif("html" not in formats(), reason="the report is a leaf of its own")
def test_the_report_lists_every_core(tmp_path: Path) -> None:
    run = write_run(tmp_path / "tpu", strategy="tpu", replicas=2, cores_per_replica=2, steps=60)
    report = write(strategy_profiles.load(run), "html", tmp_path / "one.html").read_text("utf-8")
    (body,) = re.findall(r'<section id="cores".*?</section>', report, re.DOTALL)
    assert "means over" in body
    assert body.count("<tr>") == 2 * (1 + 2 * 2)  # its phases, and the rest
    assert "CPU:3" in body


@pytest.mark.parametrize("cores_per_replica", [1, 2])
def test_the_summary_has_cores_where_they_are_not_its_replicas(
    cores_per_replica: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = {"replicas": 2, "cores_per_replica": cores_per_replica}
    run = write_run(tmp_path / "tpu", strategy="tpu", steps=60, **shape)
    assert main(["summary", str(run)]) == 0
    assert ("Every core" in capsys.readouterr().out) is (cores_per_replica > 1)
