"""A real cluster of two on this host: one clock, whose truth is 0, and the late worker named."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.timeline import lay_out
from tests.timeouts import MAX_WAIT_S

pytestmark = [pytest.mark.run, pytest.mark.tf]

LATE_MS = 200.0
PHASES = ("compute", "delay", "wait", "transfer", "input", "idle")


def test_a_delay_in_one_worker_is_seen_and_named_on_one_clock(
    launcher: Launcher, tmp_path: Path
) -> None:
    spec = RunSpec.model_validate(
        {
            "strategy": "multi-worker-mirrored",
            "workers": 2,
            "devices": "cpu:1",
            "workload": "digits-mlp",
            "global_batch_size": 24,
            "steps": 20,
            "inject": [{"replica": 0, "worker": 1, "ms": LATE_MS}],
        }
    )
    handle = launcher.launch(spec, tmp_path / "run")
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "finished", f"{handle.message}\n{handle.failure_detail}"
    profile = strategy_profiles.load(handle.folder)
    summary = profile.summary()

    reference, other = summary["clocks"]
    assert (reference["source"], other["source"]) == ("reference", "same host")
    assert other["num_measurements"] > 0
    assert abs(other["measured_ms"]) <= other["measured_uncertainty_ms"]
    assert other["check"]["is_consistent"]

    straggler = summary["segments"][0]["straggler"]
    assert (straggler["replica"], straggler["worker"]) == (1, 1)
    assert 0.5 * LATE_MS < straggler["late_ms"] < 3 * LATE_MS

    rows = profile.table("replica_steps").to_pylist()
    assert {(row["worker"], row["source"]) for row in rows} == {(0, "measured"), (1, "marks")}
    for row in rows:
        assert sum(row[f"{phase}_ms"] for phase in PHASES) == pytest.approx(row["wall_ms"])
    assert {track.worker for track in lay_out(profile).tracks} == {0, 1}
