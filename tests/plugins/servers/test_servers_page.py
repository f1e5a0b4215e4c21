"""The page of parameter servers says what to do where a run has none."""

from __future__ import annotations

from pathlib import Path

from tests.app.looking import open_page, text_of
from tests.profiles.served_run import write_served_run
from tests.synthetic import write_run


def test_a_run_without_servers_says_so(tmp_path: Path) -> None:
    write_run(tmp_path / "plain", steps=20, windows=1)
    page = open_page("servers", tmp_path, run="plain")
    assert not page.exception
    assert "no parameter servers" in text_of(page)
    assert "Choose ParameterServerStrategy for a new run" in text_of(page)


def test_a_run_with_servers_is_shown_worker_by_worker(tmp_path: Path) -> None:
    write_served_run(tmp_path / "served")
    page = open_page("servers", tmp_path, run="served")
    text = text_of(page)
    assert "<b>2 workers</b> did <b>56</b> steps" in text
    assert "<b>1 parameter server</b>" in text
    assert "Worker 1 did only <b>16</b> of them" in text
    assert "Pulling and pushing take <b>26 %</b> of a worker" in text
    assert "26 % of a worker" in text_of(open_page("overview", tmp_path, run="served"))
    workers, _, variables, traffic = [frame.value for frame in page.dataframe][:4]
    assert list(workers["num_steps"]) == [40, 16]
    assert list(traffic["pulled"]) == [40 * 440, 16 * 440]
    assert list(variables["name"]) == ["kernel", "momentum", "mean"]


def test_a_step_without_parts_is_said_to_have_none(tmp_path: Path) -> None:
    write_served_run(tmp_path / "own", own_step=True)
    text = text_of(open_page("servers", tmp_path, run="own"))
    assert "pulls and pushes during the step, so these parts are not known" in text


def test_without_a_run_in_the_address_it_opens_on_the_newest_with_servers(tmp_path: Path) -> None:
    write_served_run(tmp_path / "served")
    write_run(tmp_path / "another", steps=20, windows=1)
    page = open_page("servers", tmp_path)
    assert page.query_params["run"] == "served"
    assert "<b>2 workers</b> did" in text_of(page)
    assert "no parameter servers" in text_of(open_page("servers", tmp_path, run="another"))


def test_the_page_of_an_empty_folder_names_the_strategy(tmp_path: Path) -> None:
    page = open_page("servers", tmp_path)
    assert "No run yet" in text_of(page)
    assert "ParameterServerStrategy" in text_of(page)
