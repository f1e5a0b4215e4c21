"""The compare page: what its runs can say as a sentence, or why there is none."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import strategy_profiles
from strategy_app.widgets.run_list import row_of
from strategy_app.widgets.runs_folder import list_runs
from strategy_profiles.analysis.compare import run_spread
from strategy_profiles.analysis.compare.run_comparison import compare_runs
from strategy_profiles.reporting import units
from tests.app.looking import charts_of, open_page, rerun, text_of
from tests.growing_run import begin_run
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs, each named by what sets it apart; `other` has other op names."""
    folder = tmp_path_factory.mktemp("runs")
    common = {"steps": 120, "windows": 1, "window_steps": 4}
    write_run(folder / "quick", seed=1, **common)
    write_run(folder / "again", seed=2, **common)
    write_run(folder / "slow", step_ms=40.0, seed=3, **common)
    write_run(folder / "other", prefix="not-", **common)
    write_run(folder / "short", steps=4, windows=0)
    write_run(folder / "changed", segments=[{}, {"replicas": 2}], **common)
    write_run(folder / "longer", segments=[{"steps": 30}, {"replicas": 2}], **common)
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
    assert "<b>The loop takes 46 % less per step</b> in B than in A in these two runs" in text
    text = text_of(open_page("compare", runs, a="quick", b="slow"))
    assert "<b>The loop takes 86 % longer per step</b> in B than in A in these two runs" in text
    assert "faster" not in text.replace("which is faster", "")


def test_a_spec_without_other_runs_asks_for_repetitions(runs: Path) -> None:
    text = text_of(open_page("compare", runs, a="quick", b="short")).replace("\\", "")
    assert "differ on this machine is not known" in text
    words = re.sub(r"</?span.*?>", "", text)
    assert "strategy-lab run A.yaml --interleave B.yaml" in words


def test_other_runs_of_the_spec_tell_what_is_usual(repeated: Path) -> None:
    text = text_of(open_page("compare", repeated, a="x-a-1", b="x-a-2")).replace("\\", "")
    assert "6 other runs of these specs on this machine differ by" in text
    assert "this difference is within that" in text


def test_the_other_runs_of_a_folder_are_read_once(
    repeated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_page("compare", repeated, a="x-b-1", b="x-b-2")
    open_page("compare", repeated, a="x-b-3", b="x-b-4")

    def reads_again(path: Path) -> None:
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(run_spread, "load", reads_again)
    text = text_of(open_page("compare", repeated, a="x-b-1", b="x-b-4")).replace("\\", "")
    assert "6 other runs of these specs on this machine differ by" in text


def test_the_list_of_runs_reads_what_their_differences_need(
    repeated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(repeated, tmp_path / "runs")
    for entry in list_runs(folder):
        row_of(entry)

    def reads_again(path: Path) -> None:
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(run_spread, "load", reads_again)
    a, b = (strategy_profiles.load(folder / f"x-a-{number}") for number in (1, 2))
    found = run_spread.known_spread([(a, 0), (b, 0)])
    assert found is not None
    assert found.num_runs == 6


def test_several_runs_a_side_have_an_answer(repeated: Path) -> None:
    at = open_page("compare", repeated, a="x-a-1", b="x-b-1")
    at.button("all_repetitions").click()
    rerun(at)
    text = text_of(at)
    assert "<b>A is faster</b>. The loop takes 8.9 % longer per step in B" in text
    assert "4 pairs of consecutive runs" in text
    assert "Run by run" in text
    assert at.query_params["more_a"] == ["x-a-2", "x-a-3", "x-a-4"]
    at.button("swap").click()
    rerun(at)
    assert at.query_params["more_a"] == ["x-b-2", "x-b-3", "x-b-4"]
    assert "<b>B is faster</b>. The loop takes" in text_of(at)


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


def test_of_an_unfinished_run_the_page_says_which_steps_are_compared(tmp_path: Path) -> None:
    write_run(tmp_path / "whole", steps=60, windows=0)
    for name, ending, said in (
        ("broken", "failed", "Run B failed: its steps before that are compared."),
        ("cut", None, "Run B was cut off: its recorded steps are compared."),
    ):
        write_run(tmp_path / name, steps=60, windows=0, ending=ending)
        at = open_page("compare", tmp_path, a="whole", b=name)
        assert said in [item.value.replace("\\", "") for item in at.warning]


def test_several_warnings_are_in_one_box(tmp_path: Path) -> None:
    for name in ("broken", "broken-too"):
        write_run(tmp_path / name, steps=60, windows=0, ending="failed")
    at = open_page("compare", tmp_path, a="broken", b="broken-too")
    (box,) = at.warning
    assert "- Run A failed" in box.value
    assert "- Run B failed" in box.value


def test_two_segments_of_one_run(runs: Path) -> None:
    at = open_page("compare", runs, a="changed", b="changed")
    assert at.query_params["segment_a"] in ("0", ["0"])
    assert at.query_params["segment_b"] in ("1", ["1"])
    assert "in A in these two segments of one run" in text_of(at)


def test_of_two_runs_the_page_compares_the_segments_that_the_command_compares(runs: Path) -> None:
    for name in ("changed", "longer"):
        at = open_page("compare", runs, a=name, b="quick")
        compared = compare_runs(
            strategy_profiles.load(runs / name), strategy_profiles.load(runs / "quick")
        )
        expected = str(compared.a_segment)
        assert at.query_params["segment_a"] in (expected, [expected])
        medians = (side[0].timed.time.median_ms for side in (compared.b, compared.a))
        assert " against ".join(map(units.milliseconds, medians)) in text_of(at)


def test_a_run_against_itself_asks_for_another(runs: Path) -> None:
    assert "A and B are the same" in text_of(open_page("compare", runs, a="quick", b="quick"))


def test_a_single_run_asks_for_another_one_to_be_recorded(tmp_path: Path) -> None:
    write_run(tmp_path / "only", steps=30, windows=0)
    said = text_of(open_page("compare", tmp_path))
    assert "There is no other run" in said
    assert "Choose another run" not in said


def test_swapping_exchanges_the_sides(runs: Path) -> None:
    at = open_page("compare", runs, a="slow", b="quick")
    at.button("swap").click()
    rerun(at)
    assert at.query_params["a"] in ("quick", ["quick"])
    assert "<b>The loop takes 86 % longer per step</b> in B than in A" in text_of(at)


def test_the_default_b_is_the_newest_run_that_can_be_compared(tmp_path: Path) -> None:
    """Neither the failed, the short, the empty nor the running one, though all are listed first."""
    begin_run(tmp_path / "a-running", steps=60)
    write_run(tmp_path / "b-empty", steps=0, windows=0)
    write_run(tmp_path / "c-short", steps=9, windows=0)
    write_run(tmp_path / "d-failed", steps=60, windows=0, ending="failed")
    write_run(tmp_path / "e-stopped", steps=60, windows=0, ending="stopped")
    write_run(tmp_path / "f-first", steps=60, windows=0)
    at = open_page("compare", tmp_path, a="f-first")
    assert at.query_params["b"] in ("e-stopped", ["e-stopped"])
    at = open_page("compare", tmp_path)
    assert at.query_params["a"] in ("f-first", ["f-first"])
    assert at.query_params["b"] in ("e-stopped", ["e-stopped"])


@pytest.mark.parametrize("looked_at", [None, "a-lonely", "c-old"])
def test_the_sides_are_the_two_newest_runs_that_can_be_compared(
    looked_at: str | None, tmp_path: Path
) -> None:
    for name in ("a-lonely", "b-new", "c-old"):
        prefix = "not-" if name == "a-lonely" else ""
        write_run(tmp_path / name, steps=60, windows=0, prefix=prefix)
    at = open_page("compare", tmp_path)
    if looked_at:
        at.session_state["last_run"] = looked_at
        at.query_params.clear()
        rerun(at)
    assert [at.selectbox(key=f"pick_{side}").value for side in "ab"] == ["c-old", "b-new"]


def test_without_a_run_to_compare_with_the_page_says_why(tmp_path: Path) -> None:
    write_run(tmp_path / "good", steps=60, windows=0)
    write_run(tmp_path / "failed", steps=60, windows=0, ending="failed")
    write_run(tmp_path / "short", steps=9, windows=0)
    text = text_of(open_page("compare", tmp_path, a="good")).replace("\\", "")
    assert "There is no other run to compare with." in text
    assert "failed: it failed" in text
    assert "short: it has 8 steady steps, and 16 are the least" in text
    assert "Choose another run for B." in text


def test_the_histograms_mark_the_compared_step_times(runs: Path) -> None:
    charts = charts_of(open_page("compare", runs, a="quick", b="slow"))
    times = compare_runs(*map(strategy_profiles.load, (runs / "quick", runs / "slow"))).times
    shapes = [shape["x0"] for chart in charts for shape in chart["layout"].get("shapes", ())]
    assert [x for x in shapes if x > 2] == pytest.approx([times.a_ms, times.b_ms])


def test_a_short_run_is_advised_to_be_longer(runs: Path) -> None:
    text = text_of(open_page("compare", runs, a="quick", b="again")).replace("\\", "")
    assert "Record longer runs first: the shortest has 2." in text
    assert "--steps" in text


def test_more_runs_are_each_compared_with_the_first_and_none_is_called_faster(runs: Path) -> None:
    page = open_page("compare", runs, a="quick", b="again", each=["slow", "empty"])
    text = text_of(page).replace("\\", "")
    assert (
        "<b>slow</b> as B, quick as A: the loop takes 86 % longer per step in B than in A in these"
        in text
    )
    assert "<b>empty</b> cannot be compared" in text
    assert "faster" not in text.replace("which is faster", "")
    assert ">quick (A)</th>" in text
    assert ">again (B)</th>" in text
    # The first row is the time of the loop: that of A, then each with its change.
    row = (
        text.partition('aria-label="Each run against the first"')[2]
        .partition(">Loop time per step, ms</th>")[2]
        .partition("</tr>")[0]
    )
    assert row.count("<td") == 5  # the name of the figure and four runs
    assert row.count(" %)</td>") == 2


def test_the_configuration_of_each_side_can_be_copied(runs: Path) -> None:
    page = open_page("compare", runs, a="slow", b="quick")
    commands = [item.value for item in page.get("code") if "strategy-lab run" in item.value]
    assert len(commands) == 2


def test_fields_that_differ_come_first_among_all_fields(runs: Path) -> None:
    page = open_page("compare", runs, a="quick", b="slow")
    page.toggle("spec_all").set_value(True)
    rerun(page)
    differ, equal = spec_table(page).split(">Equal</th>")
    assert ">workload</th>" in equal
    assert ">seed</th>" in differ
    assert ">seed</th>" not in equal


def spec_table(page: AppTest) -> str:
    label = 'aria-label="Differences between the specs"'
    (found,) = (item.proto.body for item in page.get("html") if label in item.proto.body)
    return str(found)


def test_of_two_segments_the_changed_fields_alone_are_listed(runs: Path) -> None:
    page = open_page("compare", runs, a="changed", b="changed")
    assert re.findall(r">([a-z_.]+)</th>", spec_table(page).partition("<tbody>")[2]) == ["devices"]
