"""The cores that a run and other programs used while a segment trained."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.findings import findings, gather_facts
from strategy_profiles.analysis.machine_load import MachineLoad, machine_load
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import ProcessUse
from strategy_profiles.run.events import ResourcesSampled
from strategy_profiles.run.layout import launcher_file
from tests.synthetic import EPOCH_NS, write_run

SECOND_NS = 10**9


def sampled(run: Path, second: float, busy: float, *cores: float, launcher: int = 0) -> None:
    """Append a sample of the second before `second`; one process per number in `cores`."""
    log = EventLog(launcher_file(run, launcher), now_ns=lambda: EPOCH_NS + int(second * SECOND_NS))
    used = [ProcessUse(launcher + i, 0, each, 10**9) for i, each in enumerate(cores)]
    log.write(ResourcesSampled(1000.0, 4, busy, 0.2, used))
    log.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Steps of 25 ms; the first one takes 0.8 s more."""
    return write_run(tmp_path / "run", replicas=2, steps=200, memory=False)


def load_of(run: Path) -> MachineLoad | None:
    return machine_load(strategy_profiles.load(run), 0)


def test_a_run_without_samples_has_no_load(run: Path) -> None:
    assert load_of(run) is None


def test_other_programs_used_what_the_processes_of_the_run_did_not(run: Path) -> None:
    for second in (2.5, 3.5, 4.5):
        sampled(run, second, 3.9, 1.5, 1.0)
    load = load_of(run)
    assert load is not None
    assert load == MachineLoad(
        num_samples=3,
        num_cores=4,
        run_cores=pytest.approx(2.5),
        other_cores=pytest.approx(1.4),
        stolen_cores=pytest.approx(0.2),
    )
    assert load.is_full


def test_samples_of_the_first_step_and_after_the_last_one_are_left_out(run: Path) -> None:
    for second in (0.9, 60.0):
        sampled(run, second, 4.0, 0.1)
    assert load_of(run) is None


def test_the_host_with_the_most_other_load_counts(run: Path) -> None:
    sampled(run, 3.0, 1.0, 1.0)
    sampled(run, 3.1, 4.0, 1.0, launcher=1)
    load = load_of(run)
    assert load is not None
    assert load.other_cores == pytest.approx(3.0)


def test_steps_that_vary_are_explained_by_what_was_sampled(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=200, memory=False, noise=0.8)
    sampled(run, 3.0, 1.1, 1.0)
    profile = strategy_profiles.load(run)
    advice = {
        item.key: item.advice for item in findings(gather_facts(profile, profile.segments[0]))
    }
    assert advice["unsteady"].startswith(
        "Other programs and other virtual machines used only 0.3 of the machine's 4 CPU"
    )
