"""The page What if of a real run: predictions with their interval, and the critical path."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from strategy_profiles.run.manifest import change_run_file
from strategy_replay.engine.batch_edit import RECORD_ANOTHER
from tests.app.looking import open_page, rerun, text_of
from tests.synthetic import write_run

pytestmark = pytest.mark.run
IMPORTED = Path(__file__).parents[2] / "data" / "imported"
OVERLAPPED = "with communication overlapped by the backward pass"


def said(page: AppTest) -> str:
    """What the page says, without Markdown's escapes."""
    return text_of(page).replace("\\", "")


def test_the_page_predicts_steps_of_a_real_run(finished_run: Path) -> None:
    page = open_page("what_if", finished_run.parent, run=finished_run.name)
    assert "captured steps replayed: median" in said(page)
    assert "than its own replay, unexplained" in said(page)
    (path,) = (each.value for each in page.dataframe)
    assert 0 < path["share"].max() <= 100
    assert {"compute", "launch gap"} <= set(path["kind"])
    predictions = [item.proto.body for item in page.get("html")]
    assert any("with compute 2 times as fast" in body for body in predictions)
    assert "S is" not in said(page)


def test_several_edits_are_added_and_removed(finished_run: Path) -> None:
    page = open_page("what_if", finished_run.parent, run=finished_run.name)
    page.selectbox(key="what_if_own").select("Speed of the link, times")
    number = next(each for each in rerun(page).number_input if each.label == "times")
    number.set_value(1.5)
    assert "over a link 1.5 times as fast" in said(rerun(page))
    page.button(key="what_if_add").click()
    page = rerun(page)
    assert page.button(key="what_if_add").disabled
    page.selectbox(key="what_if_own").select("Communication overlapped")
    rerun(page).button(key="what_if_add").click()
    together = f"over a link 1.5 times as fast and {OVERLAPPED}"
    assert together in said(rerun(page))
    page.button(key="what_if_remove_0").click()
    assert together not in said(rerun(page))
    assert OVERLAPPED in said(page)


def test_another_batch_is_compared_by_examples(finished_run: Path) -> None:
    page = open_page("what_if", finished_run.parent, run=finished_run.name)
    page.selectbox(key="what_if_own").select("Global batch size")
    page = rerun(page)
    size = next(each for each in page.number_input if each.label == "to")
    assert f"with a global batch of {size.value:.0f} instead of {size.value / 2:.0f}" in said(page)
    assert "times as many examples per second (" in said(page)
    assert RECORD_ANOTHER in said(page)


def test_the_recorded_algorithm_is_not_offered_as_another(finished_run: Path) -> None:
    page = open_page("what_if", finished_run.parent, run=finished_run.name)
    page.selectbox(key="what_if_own").select("Algorithm of the all-reduce")
    page = rerun(page)
    offered = page.selectbox(key="what_if_algorithm").options
    assert "collective-ring" not in offered
    assert f"with gradients reduced by {offered[0]}" in said(page)


def test_what_cannot_be_predicted_is_not_added(finished_run: Path) -> None:
    page = open_page("what_if", finished_run.parent, run=finished_run.name)
    page.selectbox(key="what_if_own").select("XLA")
    assert "--try xla=true" in said(rerun(page))
    assert page.button(key="what_if_add").disabled


def test_what_differences_between_replicas_cost(finished_run: Path) -> None:
    page = open_page("what_if", finished_run.parent, run=finished_run.name)
    page.toggle(key="what_if_slowdowns").set_value(True)
    page = rerun(page)
    text = said(page)
    if "S is 1.00" not in text:
        assert text.count(">S_w<") == 4
        assert "Times an ideal step" in text


@pytest.mark.parametrize(
    "reason", ["An imported profile has no graph of its program", "lab trace SCRIPT"]
)
def test_an_imported_profile_has_no_prediction(reason: str) -> None:
    assert reason in text_of(open_page("what_if", IMPORTED, run="tpu_psum"))


def test_nothing_is_offered_for_a_recording_of_another_program(tmp_path: Path) -> None:
    delays = [{"replica": 1, "ms": 200.0}]
    late = write_run(
        tmp_path / "late", replicas=2, steps=30, windows=1, inject=delays, straggler=(1, 200.0)
    )
    change_run_file(late, {"spec": None})
    assert "recording of another program" in text_of(open_page("what_if", tmp_path, run="late"))
