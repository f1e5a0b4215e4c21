"""Try it on the Overview, against a pretended worker: progress, result, cancelling, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import strategy_profiles
from strategy_app.server import state
from strategy_app.widgets.text import as_markdown
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.reporting import units
from strategy_profiles.run.manifest import change_run_file
from strategy_replay.engine.what_if import WhatIf
from strategy_replay.trying import tried_change
from strategy_replay.trying.tried_changes import TriedChanges
from tests.app.looking import open_page, rerun, text_of
from tests.growing_run import begin_run
from tests.strategy_core.launcher.test_launcher import PRETENDED
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.run
BUTTON = "try_straggler"


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """A launcher of workers that pretend."""
    with Launcher(stop_grace_s=MAX_WAIT_S, worker_command=PRETENDED) as pretending:
        yield pretending


@pytest.fixture
def late(lab: Path) -> Path:
    delays = [{"replica": 1, "ms": 200.0}]
    return write_run(
        lab / "late", replicas=2, steps=30, windows=1, inject=delays, straggler=(1, 200.0)
    )


def test_a_change_is_tried_to_the_end_and_linked_to_compare(late: Path) -> None:
    page = open_page("overview", late.parent, run="late")
    page.button(key=BUTTON).click()
    rerun(page)
    begun = state.lab().part(TriedChanges).active
    assert begun is not None
    assert begun.wait(MAX_WAIT_S)
    assert begun.error is None
    result = rerun(page)
    assert begun.agreement is not None
    assert as_markdown(begun.agreement.sentence) in text_of(result)
    assert "No prediction" in text_of(result)
    assert f">{units.milliseconds(begun.agreement.measured.with_ms)}</td>".replace(
        "\u00a0", " "
    ) in _side_by_side(result)
    assert result.button(key=BUTTON).label == "Try it again"
    assert not state.lab().launcher.active


def test_a_prediction_is_shown_with_the_error_of_its_replay(
    late: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interval = (8.0, 12.0, 9.0, 11.0)
    known = WhatIf(0, ("free",), 24, 210.0, 209.0, 0.012, 0.05, 1.0, 10.0, *interval, 0.1, 0)
    monkeypatch.setattr(tried_change, "prediction", lambda *_: (known, None))
    page = open_page("overview", late.parent, run="late")
    page.button(key=BUTTON).click()
    rerun(page)
    begun = state.lab().part(TriedChanges).active
    assert begun is not None
    assert begun.wait(MAX_WAIT_S)
    page = rerun(page)
    text = text_of(page).replace("\\", "")
    assert "24 captured steps replayed" in text
    assert "Replay error 1.2 %" in text
    assert any(each.value.startswith("- inject: ") for each in page.code)
    table = _side_by_side(page)
    assert table.index(">Predicted</th>") < table.index(">Measured, 3 runs each</th>")
    assert table.index(">10.0") < table.index("</td>", table.index(">With it</th>"))


def _side_by_side(page: AppTest) -> str:
    tables = [each.proto.body for each in page.get("html")]
    return next(each for each in tables if "Prediction and measurement" in each).replace(
        "\u00a0", " "
    )


def test_a_cancelled_trial_leaves_nothing_running(late: Path) -> None:
    page = open_page("overview", late.parent, run="late")
    page.button(key=BUTTON).click()
    rerun(page)
    lab = state.lab()
    begun = lab.part(TriedChanges).active
    assert begun is not None
    wait_until(lambda: begun.step > 0)
    begun.cancel()
    assert begun.wait(MAX_WAIT_S)
    assert "Cancelled." in text_of(rerun(page))
    assert not lab.launcher.active
    assert lab.part(TriedChanges).active is None
    states = {
        strategy_profiles.load(path).status.state
        for path in late.parent.glob("late-try-no-delay-1-*-*")
    }
    assert states <= {"finished", "stopped"}


def test_beside_a_run_of_another_process_nothing_is_tried_and_the_page_goes_on_saying_why(
    late: Path,
) -> None:
    begin_run(late.parent / "growing", steps=20)
    page = open_page("overview", late.parent, run="late")
    page.button(key=BUTTON).click()
    rerun(page)
    assert "growing is being recorded" in text_of(rerun(page))
    assert state.lab().part(TriedChanges).active is None


def test_nothing_is_offered_for_a_recording_of_another_program(late: Path) -> None:
    change_run_file(late, {"spec": None})
    page = open_page("overview", late.parent, run="late")
    assert "Cannot be tried: late is a recording of another program" in text_of(page)
    assert page.button(key=BUTTON).disabled


def test_a_change_that_removes_a_delayed_replica_says_that_the_delay_ends(lab: Path) -> None:
    write_run(lab / "four", replicas=4, steps=30, windows=1, inject=[{"replica": 3, "ms": 9.0}])
    page = open_page("overview", lab, run="four")
    assert not page.button(key="try_shared-cores").disabled
    assert "the delay of 9 ms in replica 3 of worker 0 ends" in text_of(page)
    assert "Cannot be tried" not in text_of(page)
