"""The compare page: the verdict as a sentence, or why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.looking import open_page, rerun, text_of
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    common = {"steps": 120, "windows": 1, "window_steps": 4}
    write_run(folder / "quick", seed=1, **common)
    write_run(folder / "again", seed=2, **common)
    write_run(folder / "slow", step_ms=40.0, seed=3, **common)
    write_run(folder / "other", prefix="not-", **common)
    write_run(folder / "short", steps=4, windows=0)
    write_run(folder / "changed", segments=[{}, {"replicas": 2}], **common)
    write_run(folder / "empty", steps=0, windows=0, ending="failed")
    return folder


def test_the_faster_run_is_named_with_how_much(runs: Path) -> None:
    text = text_of(open_page("compare", runs, a="slow", b="quick"))
    assert "<b>B is 1.8" in text
    text = text_of(open_page("compare", runs, a="quick", b="slow"))
    assert "<b>A is 1.8" in text


def test_noise_is_called_noise(runs: Path) -> None:
    text = text_of(open_page("compare", runs, a="quick", b="again"))
    assert "Cannot tell which is faster" in text
    assert "within the noise" in text


def test_too_few_steps_give_no_verdict_and_the_reason(runs: Path) -> None:
    text = text_of(open_page("compare", runs, a="quick", b="short"))
    assert "an interval needs" in text


def test_runs_of_two_workloads_are_not_comparable_and_still_laid_side_by_side(runs: Path) -> None:
    at = open_page("compare", runs, a="quick", b="other")
    assert "cannot be compared" in at.warning[0].value
    text = text_of(at)
    assert "Loss" in text
    assert "What was asked differently" in text


def test_a_run_without_steps_says_so(runs: Path) -> None:
    at = open_page("compare", runs, a="quick", b="empty")
    assert "cannot be compared" in at.warning[0].value


def test_two_segments_of_one_run(runs: Path) -> None:
    at = open_page("compare", runs, a="changed", b="changed")
    assert at.query_params["segment_a"] in ("0", ["0"])
    assert at.query_params["segment_b"] in ("1", ["1"])
    assert "faster" in text_of(at)


def test_a_run_against_itself_asks_for_another(runs: Path) -> None:
    assert "A and B are the same" in text_of(open_page("compare", runs, a="quick", b="quick"))


def test_swapping_exchanges_the_sides(runs: Path) -> None:
    at = open_page("compare", runs, a="slow", b="quick")
    at.button("swap").click()
    rerun(at)
    assert at.query_params["a"] in ("quick", ["quick"])
    assert "<b>A is 1.8" in text_of(at)
