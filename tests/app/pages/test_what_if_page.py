"""The page What if of a real run: predictions with their interval, and the critical path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.looking import open_page, text_of

pytestmark = pytest.mark.run


def test_the_page_predicts_steps_of_a_real_run(finished_run: Path) -> None:
    shown = open_page("what_if", finished_run.parent, run=finished_run.name)
    assert "captured steps replayed" in text_of(shown)
    predictions, curve, path = (each.value for each in shown.dataframe)
    assert "measured" in curve["basis"].tolist()
    assert "with compute 2 times as fast" in predictions["change"].tolist()
    assert 0 < path["share"].max() <= 100
    assert {"compute", "launch gap"} <= set(path["kind"])
