"""A prediction of a round is compared with the runs of the other rounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import scaling


def test_a_prediction_is_not_judged_by_its_own_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def predicted(runs: list[float], wanted: list[int]) -> Any:
        step = {"step_ms": runs[-1], "low_ms": 1.0, "high_ms": 25.0}
        return [{"num_replicas": num, **step} for num in wanted]

    monkeypatch.setattr(scaling, "predicted", predicted)
    monkeypatch.setattr(scaling, "step_times", lambda run, _: SimpleNamespace(median_ms=run.path))
    rounds: Any = [
        dict.fromkeys(scaling.NUM_WORKERS, SimpleNamespace(path=ms)) for ms in (10.0, 20.0, 30.0)
    ]
    predictions = list(scaling._predictions("made up", rounds, [(2, 4)]))
    judged = {(each.predicted_ms, each.really_ms) for each in predictions}
    assert judged == {(a, b) for a in (10.0, 20.0, 30.0) for b in (10.0, 20.0, 30.0) if a != b}
    assert sum(each.is_inside for each in predictions) == 4  # two of the three reach 10 and 20 ms
    (alone,) = scaling._predictions("made up", rounds[:1], [(2, 4)])
    assert alone.really_ms == 10.0
