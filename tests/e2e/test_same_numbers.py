"""The live page and the documents for programs give the same numbers for a real run."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.analysis.findings import findings, gather_facts
from strategy_profiles.spec.run_spec import RunSpec
from tests.app.numbers_of_run import check_documents, check_live, live
from tests.timeouts import MAX_WAIT_S

pytestmark = [pytest.mark.run, pytest.mark.slow]

SPEC = {
    "strategy": "mirrored",
    "devices": "cpu:4",
    "workload": "digits-mlp",
    "global_batch_size": 64,
    "steps": 40,
    "inject": [{"replica": 1, "ms": 60.0}, {"replica": 2, "ms": 30.0}],
}


@pytest.fixture(scope="module")
def run(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "late"
    handle = launcher.launch(RunSpec.model_validate(SPEC), run)
    assert handle.wait(MAX_WAIT_S), "the run did not end"
    assert handle.status == "finished", f"{handle.message}\n{handle.failure_detail}"
    return run


def test_a_real_run_has_the_same_numbers_everywhere(run: Path, tmp_path: Path) -> None:
    assert live(run)["slowest"] == 1
    check_live(run)
    check_documents(run, tmp_path)


def test_both_injected_delays_are_named_and_nothing_is_guessed(run: Path) -> None:
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    assert [late.replica for late in facts.stragglers.late] == [1, 2]
    assert facts.stragglers.late[0].late_ms == pytest.approx(60.0, rel=0.15)
    assert facts.stragglers.late[1].late_ms == pytest.approx(30.0, rel=0.3)
    found = {item.key: item for item in findings(facts)}
    assert found["straggler"].sentence.startswith(
        "Replica 1 is late because of the injected delay of 60 ms and replica 2 is late because of "
        "the injected delay of 30 ms: "
    )
    assert (
        found["straggler"].advice == "Remove the injected delay to measure the program without it."
    )
    assert "python-op" not in found
