"""The export to MLflow, against a real MLflow server and a database: `make test-mlflow`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

import strategy_profiles
from strategy_core.cli.main import main
from strategy_core.processes.free_port import free_port
from strategy_profiles.exports.key_metrics import segment_metrics
from tests.engines.serving import serving
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `mlflow server` on a database of its own."""
    folder = tmp_path_factory.mktemp("mlflow")
    address = f"http://127.0.0.1:{free_port('127.0.0.1')}"
    command = [sys.executable, "-m", "mlflow", "server", "--port", address.rpartition(":")[2]]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--workers", "1"]
    # Its jobs judge answers of language models, in four more processes.
    environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    with serving(command, f"{address}/health", folder / "log", environment=environment):
        yield address


def check(address: str, run: Path) -> None:
    assert main(["export", str(run), "--format", "mlflow", "-o", address]) == 0
    client = MlflowClient(tracking_uri=address)
    experiment = client.get_experiment_by_name("strategy-lab")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    kept = next(item for item in runs if item.info.run_name == run.name)
    assert kept.info.status == "FINISHED"
    assert kept.data.params["strategy"] == "mirrored"
    expected = segment_metrics(strategy_profiles.load(run))
    for each in expected:
        for metric in each.metrics:
            history = client.get_metric_history(kept.info.run_id, metric.name)
            values = {point.step: point.value for point in history}
            assert values[each.segment.first_step] == pytest.approx(metric.value)
    names = {metric.name for each in expected for metric in each.metrics}
    assert set(kept.data.metrics) == names


def test_a_server_gets_the_key_numbers_of_every_segment(server: str, tmp_path: Path) -> None:
    check(server, write_run(tmp_path / "served", segments=2, steps=80))


def test_a_second_run_joins_the_experiment(server: str, tmp_path: Path) -> None:
    check(server, write_run(tmp_path / "second", steps=40, windows=0, marks=False))


def test_a_database_gets_them_too(tmp_path: Path) -> None:
    check(f"sqlite:///{tmp_path}/own.db", write_run(tmp_path / "kept", steps=40))


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "gopher://nowhere", "a-folder"])
def test_an_address_without_mlflow_is_a_sentence(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", steps=40)
    assert main(["export", str(run), "--format", "mlflow", "-o", address]) == 2
    errors = capsys.readouterr().err
    assert "did not take the run" in errors
    assert errors.count("\n") == 1
