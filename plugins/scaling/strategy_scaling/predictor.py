"""What a sweep asks before it makes a run: the interval of the step on more replicas."""

from __future__ import annotations

from collections.abc import Sequence

from strategy_profiles.predictors import Interval, Predictor
from strategy_profiles.tables.store import Profile


def _interval(runs: Sequence[Profile], num_replicas: int) -> Interval | None:
    from strategy_scaling.predicting import predict_scaling

    step = next(iter(predict_scaling(runs, [num_replicas]).steps), None)
    if step is None or step.basis != "predicted" or not step.low_ms or step.high_ms is None:
        return None
    return Interval(step.low_ms, step.high_ms)


PREDICTOR = Predictor(_interval)
