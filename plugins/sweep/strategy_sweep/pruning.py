"""Leaves a configuration of a sweep out if a prediction from runs on fewer replicas says that it
cannot win."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from strategy_profiles.predictors import predicted_step
from strategy_profiles.reporting import units
from strategy_profiles.reporting.spec_changes import flatten
from strategy_profiles.spec.run_spec import RunSpec, parse_spec
from strategy_profiles.tables.store import load
from strategy_sweep.contest import NextRun
from strategy_sweep.record import MeasuredRun, Sweep

MARGIN = 1.25
"""The fastest has to be this many times as fast as the prediction at its best: runs differ."""
_MAY_DIFFER = ("devices", "workers", "global_batch_size")
"""Fields in which a configuration differs from one on fewer replicas with the same batch each."""


def why_pruned(sweep: Sweep, planned: NextRun, runs: Path) -> str | None:
    """Return why a configuration cannot win, with the numbers; None if it may, or nothing tells.

    Only its first run can be left out, and that of the reference never.
    """
    wanted = sweep.configurations[planned.configuration].num_replicas
    may_be = sweep.prunes and planned.round == 1 and planned.configuration != sweep.reference
    measured = [run for run in sweep.runs if run.is_measured]
    smaller = [
        run for run in measured if _predicts(sweep, run.configuration, planned.configuration)
    ]
    if not may_be or not smaller or wanted is None:
        return None
    step = predicted_step([load(runs / run.run) for run in smaller], wanted)
    if step is None:
        return None
    best = max(measured, key=_rate)
    at_best = _batch(sweep, planned.configuration) / step.low_ms * 1e3
    if at_best * MARGIN > _rate(best):
        return None
    low, high = map(units.number, step)
    return (
        f"left out: predicted {low} to {high} ms per step, at best {units.number(at_best)} "
        f"examples/s; best measured {units.milliseconds(best.step_ms)}, "
        f"{units.number(_rate(best))} examples/s"
    )


def _predicts(sweep: Sweep, smaller: int, larger: int) -> bool:
    """Whether the first has fewer replicas, and as much work for each; all else is the same."""
    few, many = (sweep.configurations[index].num_replicas for index in (smaller, larger))
    if few is None or many is None or few >= many:
        return False
    if _batch(sweep, smaller) * many != _batch(sweep, larger) * few:
        return False
    return _fixed(sweep, smaller) == _fixed(sweep, larger)


def _fixed(sweep: Sweep, index: int) -> dict[str, Any]:
    document = flatten(_spec(sweep, index).to_json())
    return {field: value for field, value in document.items() if field not in _MAY_DIFFER}


def _batch(sweep: Sweep, index: int) -> int:
    return _spec(sweep, index).global_batch_size


def _spec(sweep: Sweep, index: int) -> RunSpec:
    return parse_spec(sweep.base).with_changes(sweep.configurations[index].changes)


def _rate(run: MeasuredRun) -> float:
    return run.examples_per_second_at_median or 0.0
