"""A worker hands over to a fresh one after so many changes: what they leave behind is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strategy_core.processes import protocol
from strategy_lab.profiles.spec.run_spec import RunSpec
from tests.event_records import read_records

pytestmark = pytest.mark.tf


class InstantTraining:
    """Steps and changes that take no time."""

    def __init__(self, spec: RunSpec, _recorder: Any, resume: Any, agreement: Any) -> None:
        assert resume is None
        assert agreement is None
        self.spec, self.step, self.num_traced = spec, 0, 1

    def open(self) -> None: ...

    def run_step(self) -> None:
        self.step += 1

    def reconfigure(self, spec: RunSpec) -> None:
        self.spec = spec
        self.num_traced += 1

    def save(self, path: Path) -> None: ...


class LauncherWithASpare:
    """Says nothing while steps are done, and takes over when asked."""

    def pending(self) -> list[protocol.Command]:
        return []

    def next(self) -> protocol.Command:
        return protocol.Leave(2)


@pytest.mark.usefixtures("logical_cpus")
def test_the_change_after_the_last_one_goes_to_a_fresh_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strategy_core.planning import reconfiguration
    from strategy_core.worker import training_worker

    most = reconfiguration.MAX_TRACED
    monkeypatch.setattr(training_worker, "Training", InstantTraining)
    monkeypatch.setattr(training_worker.parent_death, "print_into", lambda folder: folder.mkdir())
    monkeypatch.setattr(training_worker.logical_devices, "create_logical_devices", lambda *_: None)
    changes = [
        {"step": number, "changes": {"global_batch_size": 2 * number}}
        for number in range(1, 2 * (most + 1) + 1, 2)
    ]
    spec = RunSpec.model_validate({"devices": "cpu:2", "steps": 1000, "reconfigure": changes})
    said: list[dict[str, Any]] = []
    run = protocol.Run(1, str(tmp_path), 0, 0, spec.to_json())
    worker = training_worker.WorkerRun(run, LauncherWithASpare(), said.append)  # type: ignore[arg-type]
    assert worker.run() == protocol.EXIT_DONE
    records = read_records(tmp_path / "worker-0-0" / "events.jsonl")
    answers = [record["status"] for record in records if record["kind"] == "answer"]
    assert answers == ["applied"] * most
    assert said[-1]["replace"]["step"] == changes[most]["step"]
    assert records[-1]["status"] == "replaced"
