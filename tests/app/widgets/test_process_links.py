"""The links between processes on the Communication page."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_profiles.run.events import LinkBytes
from tests.app.looking import open_page, text_of
from tests.profiles.analysis.test_links import WORKERS, counted, write_counts
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    shape = {"replicas": WORKERS, "workers": WORKERS, "steps": 30, "global_batch_size": 252}
    for name in ("counted", "refused"):
        write_run(folder / name, **shape)
    write_run(folder / "marks", **shape, windows=0)
    write_run(folder / "alone", replicas=2, steps=30)
    for worker in range(WORKERS):
        for name in ("counted", "marks"):
            counts = [(step, counted(worker, step, step)) for step in (1, 21)]
            write_counts(folder / name, worker, counts)
        refused = LinkBytes(0, 1, [], None, "this system does not tell")
        write_counts(folder / "refused", worker, [(1, refused)])
    return folder


@pytest.mark.parametrize("name", ["counted", "marks"])
def test_links_are_measured_and_derived_with_and_without_a_window(name: str, runs: Path) -> None:
    at = open_page("communication", runs, run=name)
    said = text_of(at)
    assert "Between processes" in said
    assert "over 20 steps" in said
    assert "Overhead of the protocol" in said
    (kinds,) = [group for group in at.get("button_group") if group.key == "source_of_links_matrix"]
    assert list(kinds.options) == ["Measured on sockets", "Derived"]
    links = next(frame.value for frame in at.dataframe if "derived_bytes" in frame.value)
    assert len(links) == WORKERS
    assert links["bytes"].tolist() == [1_000_000.0] * WORKERS
    interfaces = next(frame.value for frame in at.dataframe if "header_bytes" in frame.value)
    assert len(interfaces) == 2 * WORKERS
    assert interfaces["unexplained"].abs().max() < 1e-6


def test_without_a_measurement_the_derived_stand_and_the_reason_is_said(runs: Path) -> None:
    at = open_page("communication", runs, run="refused")
    said = text_of(at).replace("\\", "")
    (links,) = (frame.value for frame in at.dataframe if "derived_bytes" in frame.value)
    assert list(links.columns) == ["from", "to", "derived_bytes"]
    assert "Between processes" in said
    assert "Not measured: this system does not tell" in said


def test_a_run_of_one_process_says_nothing_of_links(runs: Path) -> None:
    assert "Between processes" not in text_of(open_page("communication", runs, run="alone"))
