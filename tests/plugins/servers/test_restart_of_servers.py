"""A run whose parameter server is lost restarts from the coordinator's last checkpoint."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import RunSpec
from tests.event_records import run_records
from tests.processes import is_living
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.run

NUM_STEPS, EVERY = 60, 5
STEP_MS = 50.0
"""Slow enough that there is something left to do when the server is lost."""


@pytest.mark.long
def test_a_lost_parameter_server_costs_the_steps_since_the_checkpoint(
    launcher: Launcher, tmp_path: Path
) -> None:
    spec = RunSpec.model_validate(
        {
            "strategy": "parameter-server",
            "workers": 1,
            "parameter_servers": 1,
            "workload": "digits-mlp",
            "global_batch_size": 32,
            "steps": NUM_STEPS,
            "inject": [{"worker": 0, "replica": 0, "ms": STEP_MS}],
            "cluster": {"checkpoint_every_steps": EVERY, "restarts": 1},
        }
    )
    handle = launcher.launch(spec, tmp_path / "run")
    wait_until(lambda: (handle.step or 0) > 2 * EVERY or handle.is_over)
    assert not handle.is_over, f"{handle.message}\n{handle.failure_detail}"
    (first,) = (r for r in run_records(handle.folder, "launched") if r["worker"] == 2)
    os.kill(first["pid"], signal.SIGKILL)
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "finished", f"{handle.message}\n{handle.failure_detail}"

    profile = strategy_profiles.load(handle.folder)
    before, again = profile.segments
    assert before.first_step == 0
    assert again.first_step >= EVERY
    assert again.state_checksum_before == again.state_checksum_after
    steps = profile.table("steps").to_pylist()
    done_again = [row["step"] for row in steps if row["segment"] == again.segment]
    assert done_again == list(range(again.first_step, NUM_STEPS))
    exits = {(r["worker"], r["generation"]): r for r in run_records(profile.path, "exited")}
    assert exits[2, 0]["message"].startswith("Parameter server 0: Something outside the lab killed")
    assert {exits[number, 0]["follows"] for number in (0, 1)} == {2}
    assert {exits[number, 1]["verdict"] for number in (0, 1, 2)} == {"finished"}
    assert any("restarts from" in note["message"] for note in run_records(profile.path, "note"))
    assert profile.status.state == "finished"
    assert not any(is_living(r["pid"]) for r in run_records(profile.path, "launched"))
