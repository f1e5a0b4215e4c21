"""What-if on a real run of two processes, of which TensorFlow's profiler records the first one."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_app.server.timelines import Timelines
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.timeline.critical_path import path_of_step
from strategy_replay.engine.edits import RemoveDelay
from strategy_replay.engine.path_shares import path_table
from strategy_replay.engine.replays import replays
from strategy_replay.engine.what_if import what_if

pytestmark = pytest.mark.run
DELAY_MS = 120


@pytest.fixture(scope="module")
def run(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = RunSpec.model_validate(
        {
            "strategy": "multi-worker-mirrored",
            "workers": 2,
            "workload": "digits-mlp",
            "global_batch_size": 64,
            "steps": 24,
            "inject": [{"worker": 1, "replica": 0, "ms": DELAY_MS}],
            "capture": {"every_step": True, "keep_xplane": False},
        }
    )
    folder = tmp_path_factory.mktemp("workers") / "late"
    handle = launcher.launch(spec, folder)
    assert handle.wait(240)
    assert handle.status == "finished", handle.message
    return folder


def test_the_delay_of_another_worker_is_on_the_critical_path(run: Path) -> None:
    graph = replays(strategy_profiles.load(run), 0).middle.graph
    longest = path_table(graph)[0]
    assert (longest.kind, longest.op) == ("delay", "worker 1")
    assert longest.total_ms == pytest.approx(DELAY_MS, rel=0.2)


def test_without_the_delay_a_step_is_shorter_by_it(run: Path) -> None:
    found = what_if(strategy_profiles.load(run), 0, [RemoveDelay()])
    assert found.measured_ms > DELAY_MS
    assert found.measured_ms - found.predicted_ms == pytest.approx(DELAY_MS, rel=0.35)
    assert found.most_ms < found.measured_ms


def test_the_timeline_draws_the_path_through_both_workers(run: Path) -> None:
    profile = strategy_profiles.load(run)
    timeline = Timelines(run.parent).get(run.name)
    parts = path_of_step(profile, timeline, replays(profile, 0).middle.graph.step)
    devices = {
        track.device
        for track in timeline.tracks
        for part in parts
        if part.row is not None and part.row in track.rows
    }
    assert any("task:0" in device for device in devices)
    assert any("task:1" in device for device in devices)
