"""Both strategies of docs/adding-a-strategy.md train, each in a file that the lab finds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.analysis.breakdown import step_breakdown
from strategy_profiles.spec.run_spec import RunSpec
from tests.own_strategies import installed
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run
NUM_STEPS = 5
COMMON = {"workload": "digits-mlp", "global_batch_size": 24, "steps": NUM_STEPS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with installed(tmp_path_factory.mktemp("own") / "strategies") as folder:
        yield folder


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, strategy_profiles.Profile]:
    specs: dict[str, dict[str, Any]] = {
        "default": {},
        "sum-on-cpu": {"devices": "cpu:2"},
        "ring-of-workers": {"devices": "cpu:1", "workers": 2},
    }
    done = {}
    with Launcher(forks=True) as launcher:
        for name, fields in specs.items():
            spec = RunSpec.model_validate({**COMMON, "strategy": name, **fields})
            handle = launcher.launch(spec, folder.parent / name)
            assert handle.wait(MAX_WAIT_S)
            assert handle.status == "finished", f"{handle.message}\n{handle.failure_detail}"
            done[name] = strategy_profiles.load(handle.folder)
    return done


@pytest.mark.parametrize(
    ("name", "num_workers", "algorithm"),
    [("sum-on-cpu", 1, "reduction-to-one-device"), ("ring-of-workers", 2, "collective-ring")],
)
def test_it_trains_like_one_device_on_two_replicas(
    runs: dict[str, strategy_profiles.Profile], name: str, num_workers: int, algorithm: str
) -> None:
    run, alone = runs[name], runs["default"]
    segment = run.segments[0]
    assert (segment.strategy, segment.num_replicas) == (name, 2)
    assert (segment.num_workers, segment.cross_device_ops) == (num_workers, algorithm)
    losses = run.table("steps")["loss"].to_numpy()
    assert len(losses) == NUM_STEPS
    np.testing.assert_allclose(losses, alone.table("steps")["loss"].to_numpy(), rtol=1e-5)
    replicas = step_breakdown(run, segment).replicas
    assert [item.wall_ms is not None for item in replicas] == [True, True]


@pytest.mark.usefixtures("folder")
def test_the_command_line_lists_them() -> None:
    command = [sys.executable, "-m", "strategy_core", "devices", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=MAX_WAIT_S)
    listed = [row["name"] for row in json.loads(done.stdout)["strategies"]]
    assert listed[-2:] == ["sum-on-cpu", "ring-of-workers"]
