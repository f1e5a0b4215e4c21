"""The page What if of a real run: predictions with their interval, and the critical path."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.looking import open_page, rerun, text_of

pytestmark = pytest.mark.run
OVERLAPPED = "with communication overlapped by the backward pass"


def said(page: AppTest) -> str:
    """What the page says, without Markdown's escapes."""
    return text_of(page).replace("\\", "")


def test_the_page_predicts_steps_of_a_real_run(finished_run: Path) -> None:
    shown = open_page("what_if", finished_run.parent, run=finished_run.name)
    assert "captured steps replayed: median" in said(shown)
    assert "than its own replay, unexplained" in said(shown)
    predictions, curve, path = (each.value for each in shown.dataframe)
    assert "measured" in curve["basis"].tolist()
    assert "with compute 2 times as fast" in predictions["change"].tolist()
    assert 0 < path["share"].max() <= 100
    assert {"compute", "launch gap"} <= set(path["kind"])
    assert "S is" not in said(shown)


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


def test_what_cannot_be_predicted_is_not_added(finished_run: Path) -> None:
    page = open_page("what_if", finished_run.parent, run=finished_run.name)
    page.selectbox(key="what_if_own").select("XLA")
    assert "--try xla=true" in said(rerun(page))
    assert page.button(key="what_if_add").disabled


def test_what_differences_between_replicas_cost(finished_run: Path) -> None:
    page = open_page("what_if", finished_run.parent, run=finished_run.name)
    page.toggle(key="what_if_slowdowns").set_value(True)
    page = rerun(page)
    shown = said(page)
    tables = [each.value for each in page.dataframe if "figure" in each.value]
    if tables:
        assert tables[0]["of"].tolist()[-4:] == [f"replica {each}" for each in range(4)]
        assert "(S), by the replay" in shown
    else:
        assert "S is 1.00" in shown
