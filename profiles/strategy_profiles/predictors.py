"""Steps on more replicas, by predictors that packages add: group `strategy_lab.predictors`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from strategy_profiles.errors import LabError
from strategy_profiles.registered import loaded
from strategy_profiles.tables.store import Profile


class Interval(NamedTuple):
    """The shortest and the longest step that are likely."""

    low_ms: float
    high_ms: float


class Predictor(NamedTuple):
    """Predicts the step of a program on more replicas from runs on fewer."""

    predict: Callable[[Sequence[Profile], int], Interval | None]
    """Of runs with one batch per replica, and the wanted number of replicas. None: the recordings
    allow no prediction that was checked against measurements. Raises LabError with the reason."""


def predicted_step(runs: Sequence[Profile], num_replicas: int) -> Interval | None:
    """Return the interval of the first predictor that has one; None if there is none."""
    for each in loaded("predictors", Predictor)[0].values():
        try:
            predicted: Interval | None = each.predict(runs, num_replicas)
        except LabError:
            continue
        if predicted is not None:
            return predicted
    return None
