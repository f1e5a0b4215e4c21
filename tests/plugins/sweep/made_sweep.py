"""A sweep whose runs are made up: throughputs of known mean and spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from strategy_profiles.spec.run_spec import RunSpec
from strategy_sweep.contest import NextRun, sweep_progress
from strategy_sweep.record import Budget, Configuration, MeasuredRun, Sweep

BATCH = 64


def made_sweep(num: int, *, reference: int = 0, budget: Budget | None = None) -> Sweep:
    """A sweep of `num` batches without runs."""
    return Sweep(
        name="sweep-1",
        created_ns=0,
        base=RunSpec(devices="cpu:2").to_json(),
        axes={"global_batch_size": [BATCH * (i + 1) for i in range(num)]},
        configurations=[
            Configuration(f"batch {BATCH * (i + 1)}", {"global_batch_size": BATCH * (i + 1)})
            for i in range(num)
        ],
        reference=reference,
        left_out=[],
        budget=budget or Budget(),
        seed=7,
    )


def played(sweep: Sweep, rate: Callable[[NextRun], float | str], most: int = 1000) -> Sweep:
    """The sweep with at most `most` further runs; a text is why a run failed."""
    runs = list(sweep.runs)
    for _ in range(most):
        sweep = msgspec.structs.replace(sweep, runs=runs)
        planned = sweep_progress(sweep).next_run
        if planned is None:
            break
        runs.append(made_run(sweep, planned, rate(planned)))
    return msgspec.structs.replace(sweep, runs=runs)


def made_run(sweep: Sweep, planned: NextRun, rate: float | str) -> MeasuredRun:
    name = f"{sweep.name}-c{planned.configuration + 1}-{planned.round}"
    if isinstance(rate, str):
        return MeasuredRun(
            configuration=planned.configuration,
            round=planned.round,
            run=name,
            seconds=5.0,
            failure=rate,
        )
    batch = sweep.configurations[planned.configuration].changes["global_batch_size"]
    return MeasuredRun(
        configuration=planned.configuration,
        round=planned.round,
        run=name,
        seconds=5.0,
        step_ms=batch / rate * 1e3,
        examples_per_second_at_median=rate,
        num_replicas=2,
    )


def rounds_of(sweep: Sweep) -> list[Sequence[int]]:
    """The configurations of each round, in the order of their runs."""
    last = max(run.round for run in sweep.runs)
    return [[run.configuration for run in sweep.runs if run.round == n] for n in range(1, last + 1)]
