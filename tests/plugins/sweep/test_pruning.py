"""A configuration is left out only if its prediction says that it cannot win."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from strategy_profiles.registered import registered
from strategy_profiles.spec.run_spec import RunSpec
from strategy_sweep.contest import NextRun, sweep_progress
from strategy_sweep.pruning import why_pruned
from strategy_sweep.record import (
    Budget,
    Configuration,
    MeasuredRun,
    Pruned,
    Sweep,
)
from strategy_sweep.results import results
from tests.synthetic import write_run

pytestmark = pytest.mark.skipif(
    not registered("predictors"), reason="no installed package predicts steps on more replicas"
)
BATCH = 32
"""Of each worker."""


def sweep_of_workers(folder: Path, fastest: float, **options: object) -> Sweep:
    """One, two and four workers, of which four are still to run; and something else that ran."""
    base = RunSpec(strategy="multi-worker-mirrored", devices="cpu:1", global_batch_size=BATCH)
    configurations = [
        Configuration(f"{n} workers", {"workers": n, "global_batch_size": n * BATCH}, n)
        for n in (1, 2, 4)
    ]
    runs = []
    for index, workers in enumerate((1, 2)):
        name = f"run-{workers}"
        made = {"replicas": workers, "workers": workers, "steps": 60, "global_batch_size": BATCH}
        made |= {"global_batch_size": workers * BATCH, **options}
        write_run(folder / name, strategy="multi-worker-mirrored", **made)
        runs.append(
            MeasuredRun(
                configuration=index,
                round=1,
                run=name,
                seconds=5.0,
                started_ns=0,
                step_ms=20.0,
                examples_per_second_at_median=workers * BATCH / 20e-3,
                num_replicas=workers,
            )
        )
    configurations.append(Configuration("one-device", {"strategy": "one-device"}, 1))
    runs.append(
        MeasuredRun(
            configuration=3,
            round=1,
            run="other",
            seconds=5.0,
            started_ns=0,
            step_ms=1.0,
            examples_per_second_at_median=fastest,
            num_replicas=1,
        )
    )
    return Sweep(
        name="sweep-1",
        created_ns=0,
        base=base.to_json(),
        axes={},
        configurations=configurations,
        reference=0,
        left_out=[],
        budget=Budget(),
        seed=1,
        runs=runs,
    )


def test_a_configuration_that_cannot_win_is_left_out_with_its_numbers(tmp_path: Path) -> None:
    sweep = sweep_of_workers(tmp_path, fastest=1e6)
    why = why_pruned(sweep, NextRun(2, 1), tmp_path)
    assert why is not None
    assert why.startswith("left out: predicted ")
    assert "best measured 1.00 ms, 1,000,000 examples/s" in why
    pruned = msgspec.structs.replace(sweep, pruned=[Pruned(2, why)])
    assert 2 not in sweep_progress(pruned).left
    states = {item.index: (item.state, item.why) for item in results(pruned).table}
    assert states[2] == ("pruned", why)


def test_a_configuration_that_may_win_runs(tmp_path: Path) -> None:
    assert why_pruned(sweep_of_workers(tmp_path, fastest=100.0), NextRun(2, 1), tmp_path) is None


@pytest.mark.parametrize(
    ("planned", "changes"),
    [
        (NextRun(2, 2), {}),  # it has run once
        (NextRun(3, 1), {}),  # nothing with fewer replicas
        (NextRun(2, 1), {"prunes": False}),
        (NextRun(2, 1), {"reference": 2}),
    ],
)
def test_without_a_prediction_nothing_is_left_out(
    planned: NextRun, changes: dict[str, object], tmp_path: Path
) -> None:
    sweep = msgspec.structs.replace(sweep_of_workers(tmp_path, fastest=1e6), **changes)
    assert why_pruned(sweep, planned, tmp_path) is None


def test_a_recording_that_allows_no_prediction_leaves_nothing_out(tmp_path: Path) -> None:
    sweep = sweep_of_workers(tmp_path, fastest=1e6, marks=False)
    assert why_pruned(sweep, NextRun(2, 1), tmp_path) is None


def test_runs_on_few_replicas_come_first_in_the_first_round(tmp_path: Path) -> None:
    sweep = msgspec.structs.replace(sweep_of_workers(tmp_path, fastest=1e6), runs=[])
    planned = sweep_progress(sweep).next_run
    assert planned is not None
    assert sweep_progress(sweep).rest_of_round[-2:] == (1, 2)
