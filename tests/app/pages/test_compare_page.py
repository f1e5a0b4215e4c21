"""The compare page: what its runs can say as a sentence, or why there is none."""

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


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs a side: A B B A A B B A."""
    folder = tmp_path_factory.mktemp("repeated")
    numbers = {"a": 0, "b": 0}
    for place in range(8):
        side = "abba"[place % 4]
        numbers[side] += 1
        step_ms = {"a": 20.0, "b": 22.0}[side] * (1 + 0.004 * (place % 3))
        write_run(
            folder / f"x-{side}-{numbers[side]}",
            steps=60,
            windows=0,
            seed=place,
            step_ms=step_ms,
            begins_s=60.0 * place,
        )
    return folder


def test_one_run_a_side_gives_their_difference_and_no_answer(runs: Path) -> None:
    text = text_of(open_page("compare", runs, a="slow", b="quick"))
    assert "<b>A step takes 46 % less in B than in A in these two runs</b>" in text
    text = text_of(open_page("compare", runs, a="quick", b="slow"))
    assert "<b>A step takes 86 % longer in B than in A in these two runs</b>" in text
    assert "faster" not in text.replace("which is faster", "")


def test_a_spec_without_other_runs_asks_for_repetitions(runs: Path) -> None:
    text = text_of(open_page("compare", runs, a="quick", b="short")).replace("\\", "")
    assert "differ on this machine is not known" in text
    assert "strategy-lab run A.yaml --interleave B.yaml" in text


def test_other_runs_of_the_spec_tell_what_is_usual(repeated: Path) -> None:
    text = text_of(open_page("compare", repeated, a="x-a-1", b="x-a-2")).replace("\\", "")
    assert "6 other runs of these specs on this machine differ by" in text
    assert "this difference is within that" in text


def test_several_runs_a_side_have_an_answer(repeated: Path) -> None:
    at = open_page("compare", repeated, a="x-a-1", b="x-b-1")
    at.button("all_repetitions").click()
    rerun(at)
    text = text_of(at)
    assert "<b>A is faster</b>: a step takes 9.1 % longer" in text
    assert "4 pairs of consecutive runs" in text
    assert "Run by run" in text
    assert at.query_params["more_a"] == ["x-a-2", "x-a-3", "x-a-4"]
    at.button("swap").click()
    rerun(at)
    assert at.query_params["more_a"] == ["x-b-2", "x-b-3", "x-b-4"]
    assert "<b>B is faster</b>: a step takes" in text_of(at)


def test_runs_are_added_to_a_side_one_by_one(repeated: Path) -> None:
    at = open_page("compare", repeated, a="x-a-1", b="x-b-1")
    at.multiselect("pick_more_a").set_value(["x-a-2"])
    rerun(at)
    assert at.query_params["more_a"] in ("x-a-2", ["x-a-2"])
    assert "3 or more runs a side" in text_of(at)


def test_a_failed_run_is_never_the_default(runs: Path) -> None:
    at = open_page("compare", runs, a="quick")
    assert at.query_params["b"] not in ("empty", ["empty"])
    at = open_page("compare", runs, a="other")
    assert at.query_params["b"] in ("other", ["other"])


def test_runs_of_two_workloads_are_not_comparable_and_still_laid_side_by_side(runs: Path) -> None:
    at = open_page("compare", runs, a="quick", b="other")
    assert "cannot be compared" in at.warning[0].value
    text = text_of(at)
    assert "Loss" in text
    assert "Differences between the specs" in text


def test_a_run_without_steps_says_so(runs: Path) -> None:
    at = open_page("compare", runs, a="quick", b="empty")
    assert "cannot be compared" in at.warning[0].value


def test_two_segments_of_one_run(runs: Path) -> None:
    at = open_page("compare", runs, a="changed", b="changed")
    assert at.query_params["segment_a"] in ("0", ["0"])
    assert at.query_params["segment_b"] in ("1", ["1"])
    assert "in B than in A in these two segments of one run" in text_of(at)


def test_a_run_against_itself_asks_for_another(runs: Path) -> None:
    assert "A and B are the same" in text_of(open_page("compare", runs, a="quick", b="quick"))


def test_swapping_exchanges_the_sides(runs: Path) -> None:
    at = open_page("compare", runs, a="slow", b="quick")
    at.button("swap").click()
    rerun(at)
    assert at.query_params["a"] in ("quick", ["quick"])
    assert "<b>A step takes 86 % longer in B than in A" in text_of(at)
