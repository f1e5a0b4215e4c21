"""What the rest of the lab asks: gains of findings, the replay's error, steps on more replicas."""

from __future__ import annotations

from collections.abc import Sequence

from strategy_profiles.analysis.facts import Gain
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.predictors import Interval, Predictor
from strategy_profiles.tables.store import Profile


def _on_replicas(runs: Sequence[Profile], num_replicas: int) -> Interval | None:
    from strategy_replay.scaling.predicting import predict_scaling

    step = next(iter(predict_scaling(runs, [num_replicas]).steps), None)
    if step is None or step.basis != "predicted" or not step.low_ms or step.high_ms is None:
        return None
    return Interval(step.low_ms, step.high_ms)


def _gain(profile: Profile, segment: int, removal: Removal) -> Gain:
    from strategy_replay.engine.finding_gain import gain_without

    return gain_without(profile, segment, removal)


def _error(profile: Profile, segment: int) -> float:
    from strategy_replay.engine.replays import replays

    return replays(profile, segment).error


PREDICTOR = Predictor(_on_replicas, _gain, _error)
