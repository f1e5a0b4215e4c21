"""The key numbers of a run as a run of MLflow, in the experiment `strategy-lab`.

    strategy-lab export RUN --format mlflow -o http://127.0.0.1:5000

The address is a tracking URI: of a server, or of a database (`sqlite:///mlflow.db`). Metrics have
one point per segment, whose step is the segment's first step.
"""

from __future__ import annotations

import os
from typing import Any

from strategy_profiles.errors import LabError
from strategy_profiles.exports.destination import Destination
from strategy_profiles.exports.key_metrics import SegmentMetrics, segment_metrics
from strategy_profiles.extras import Extra
from strategy_profiles.tables.store import Profile

EXPERIMENT = "strategy-lab"
_STATUSES = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}
_PARAMS = ("strategy", "devices", "workload", "workers", "global_batch_size", "steps", "seed")
_TIMEOUTS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""MLflow otherwise asks a server that is not there for minutes. The user's own values win."""


def _send(profile: Profile, address: str) -> str:
    segments = segment_metrics(profile)
    os.environ.update({name: os.environ.get(name, text) for name, text in _TIMEOUTS.items()})
    from mlflow.entities import Metric, Param
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    try:
        client = MlflowClient(tracking_uri=address)
        run = client.create_run(
            _experiment(client),
            start_time=_started_ms(profile, segments),
            tags={"strategy_lab.path": str(profile.path), "strategy_lab.run": profile.name},
            run_name=profile.name,
        )
        client.log_batch(
            run.info.run_id,
            metrics=[
                Metric(item.name, item.value, each.segment.started_ns // 10**6, _step(each))
                for each in segments
                for item in each.metrics
            ],
            params=[Param(name, str(value)) for name, value in _params(profile).items()],
        )
        status = _STATUSES.get(profile.status.state)
        if status is not None:
            client.set_terminated(run.info.run_id, status, _ended_ms(profile))
    except (MlflowException, OSError) as error:
        why = " ".join(str(error).split())
        raise LabError(
            f"MLflow at {address} did not take the run: {why}",
            advice="Give the tracking URI of a server or database, such as "
            "http://127.0.0.1:5000 or sqlite:///mlflow.db",
        ) from None
    return f"{address} (experiment {EXPERIMENT}, run {run.info.run_id})"


def _experiment(client: Any) -> str:
    """The id of the experiment, which is created for the first run."""
    experiment = client.get_experiment_by_name(EXPERIMENT)
    return str(experiment.experiment_id if experiment else client.create_experiment(EXPERIMENT))


def _params(profile: Profile) -> dict[str, Any]:
    """What was asked; empty for a program that was only recorded."""
    spec = (profile.identity.spec if profile.identity else None) or {}
    return {name: spec[name] for name in _PARAMS if spec.get(name) is not None}


def _step(each: SegmentMetrics) -> int:
    return each.segment.first_step


def _started_ms(profile: Profile, segments: list[SegmentMetrics]) -> int:
    known = profile.identity.created_ns if profile.identity else segments[0].segment.started_ns
    return known // 10**6


def _ended_ms(profile: Profile) -> int:
    """When the last step ended."""
    steps = profile.table("steps")
    start_ns, wall_ms = steps["start_ns"][-1].as_py(), steps["wall_ms"][-1].as_py()
    return int(start_ns / 1e6 + (wall_ms or 0.0))


EXTRA = Extra("mlflow", "mlflow.tracking", "export --format mlflow")
DESTINATION = Destination(
    name="mlflow",
    title="MLflow",
    description="key numbers as a run of MLflow, to its tracking URI",
    send=_send,
    extra=EXTRA,
)
