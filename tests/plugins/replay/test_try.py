"""`strategy-lab what-if --try` against a pretended worker: new runs in turns, and refusals."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from strategy_core.cli.main import main
from strategy_core.launcher.launcher import Launcher
from strategy_replay.engine.what_if import WhatIf
from strategy_replay.trying import terminal, tried_change
from tests.strategy_core.launcher.test_launcher import PRETENDED
from tests.synthetic import write_run

pytestmark = pytest.mark.run


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose steps are long, so that a trial of it has few."""
    launcher = functools.partial(Launcher, worker_command=PRETENDED)
    monkeypatch.setattr(terminal, "Launcher", launcher)
    delays = [{"replica": 1, "ms": 200.0}]
    return write_run(
        tmp_path / "late", replicas=2, steps=30, windows=1, inject=delays, straggler=(1, 200.0)
    )


def test_a_finding_is_tried_by_its_name_and_nothing_else_is_changed(
    late: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", str(late), "--try", "straggler"]) == 0
    out, err = capsys.readouterr()
    assert "B, run 3 of 3" in err
    assert "Predicted: nothing. The graph of segment 0 is missing" in out
    assert "Measured:" in out
    assert "strategy-lab compare" in out
    runs = {path.name for path in late.parent.iterdir() if path.is_dir()}
    assert runs == {
        "late",
        *(f"late-try-no-delay-1-{side}-{n}" for side in "ab" for n in (1, 2, 3)),
    }


def test_a_prediction_is_shown_with_the_error_of_its_replay(
    late: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = WhatIf(
        segment=0,
        edits=("free",),
        num_steps=24,
        measured_ms=210.0,
        replayed_ms=209.0,
        replay_error=0.012,
        replay_error_p95=0.05,
        unexplained_ms=1.0,
        predicted_ms=10.0,
        low_ms=8.0,
        high_ms=12.0,
        least_ms=9.0,
        most_ms=11.0,
        run_spread=0.1,
        num_other_runs=0,
    )
    monkeypatch.setattr(tried_change, "prediction", lambda *_: (known, None))
    assert main(["what-if", str(late), "--try", "straggler"]) == 0
    out = capsys.readouterr().out.replace("\u00a0", " ")
    assert "Predicted: 210 ms without the change, 10.0 ms with it" in out
    assert "24 captured steps replayed" in out
    assert "Replay error 1.2 %" in out


def test_a_tried_field_is_reported_as_json(late: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", str(late), "--try", "global_batch_size=64", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert answer["kind"] == "tried"
    assert answer["changes"] == {"global_batch_size": 64}
    assert [len(answer["runs"][side]) for side in "ab"] == [3, 3]
    assert answer["measured"]["ratio"] > 0
    assert answer["predicted"] is None


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--try", "nonsense"), "has no finding of that name"),
        (("--try", "steps=5"), "does not change how long a step takes"),
        (("--try", "straggler", "--remove-delay"), "--try names its change itself"),
        (("--try", "straggler", "--pairs", "1"), "Give 3 to 30"),
    ],
)
def test_refusals_start_nothing(
    late: Path, arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", str(late), *arguments]) == 2
    assert why in capsys.readouterr().err
    assert [path.name for path in late.parent.iterdir()] == ["late"]
