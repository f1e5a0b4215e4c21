"""A sweep's runs with a made-up launcher and clock: length, names, cancelling, going on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

import strategy_profiles
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.run.manifest import read_run_file
from strategy_profiles.spec.run_spec import RunSpec
from strategy_sweep import sweeping
from strategy_sweep.contest import NextRun
from strategy_sweep.record import Budget, Sweep, load
from strategy_sweep.results import results
from strategy_sweep.sweeping import FEWEST_STEPS, Sweeping, keep_name, new_sweep
from strategy_sweep.text import verified_text
from tests.synthetic import write_run

CPU = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "")
BASE = RunSpec(devices="cpu:2", workload="digits-mlp", global_batch_size=64)
STEP_MS = {64: 20.0, 128: 30.0, 256: 100.0}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class MadeRun:
    """A run that does a step every `step_ms` of the clock, and is written when it is stopped."""

    def __init__(self, machine: Machine, spec: RunSpec, folder: Path) -> None:
        self.machine, self.folder, self.spec = machine, folder, spec
        self.began, self.step_ms = machine.clock.now, STEP_MS[spec.global_batch_size]
        self.status, self.message = "running", None
        self.machine.names.append(folder.name)
        if folder.name in machine.failing:
            self.status, self.message = "failed", "The worker failed"

    @property
    def step(self) -> int | None:
        steps_ms = (self.machine.clock.now - self.began - 2.0) * 1e3  # after two seconds of start
        return None if steps_ms < self.step_ms else int(steps_ms / self.step_ms) - 1

    def wait(self, _timeout_s: float | None = None) -> bool:
        if self.status != "running":
            return True
        self.machine.clock.now += 0.1
        self.machine.meanwhile(self)
        return False

    def stop(self) -> int:
        self.status = "stopped"
        steps = (self.step or 0) + 1
        self.machine.num_steps[self.folder.name] = steps
        write_run(
            self.folder,
            steps=steps,
            windows=0,
            marks=False,
            placement=False,
            memory=False,
            noise=0.0,
            step_ms=self.step_ms,
            global_batch_size=self.spec.global_batch_size,
            ending="stopped",
        )
        return 1


class Machine:
    def __init__(self) -> None:
        self.clock = Clock()
        self.names: list[str] = []
        self.num_steps: dict[str, int] = {}
        self.failing: set[str] = set()
        self.meanwhile: Callable[[MadeRun], None] = lambda _run: None

    def launch(self, spec: RunSpec, folder: Path) -> MadeRun:
        return MadeRun(self, spec, folder)

    def sweeping(self, sweep: Sweep, runs: Path) -> Sweeping:
        return Sweeping(sweep, runs, self.launch, clock=self.clock)


def planned(runs: Path, budget: Budget | None = None) -> Sweep:
    axes = {"global_batch_size": [64, 128, 256]}
    return new_sweep(BASE, axes, CPU, runs, budget or Budget(length_s=1.0, rounds=3))


def test_each_run_is_stopped_when_its_steps_are_long_enough(tmp_path: Path) -> None:
    machine = Machine()
    outcome = machine.sweeping(planned(tmp_path), tmp_path).go()
    assert outcome.winner is not None
    assert outcome.winner.label == "batch 128"
    by_label = {item.label: item for item in outcome.table}
    step = by_label["batch 64"].step_ms
    assert step is not None
    assert step.middle == pytest.approx(20.0, rel=0.25)
    assert machine.num_steps["sweep-digits-mlp-1-c1-batch-64-1"] == pytest.approx(50, abs=12)
    # Slow steps: until there are enough of them.
    assert machine.num_steps["sweep-digits-mlp-1-c3-batch-256-1"] == FEWEST_STEPS


def test_a_run_of_very_slow_steps_has_an_end(tmp_path: Path) -> None:
    machine = Machine()
    machine.sweeping(planned(tmp_path, Budget(length_s=0.2, rounds=1)), tmp_path).go()
    assert machine.num_steps["sweep-digits-mlp-1-c3-batch-256-1"] < FEWEST_STEPS


def test_runs_are_normal_runs_with_the_tag_of_their_sweep(tmp_path: Path) -> None:
    machine = Machine()
    machine.sweeping(planned(tmp_path), tmp_path).go()
    identity = read_run_file(tmp_path / machine.names[0])
    assert identity is not None
    assert identity.tags == ["sweep-digits-mlp-1"]
    assert strategy_profiles.load(tmp_path / machine.names[0]).status.state == "stopped"
    assert planned(tmp_path).name == "sweep-digits-mlp-2"


def test_sweeps_that_start_at_once_get_a_name_each(tmp_path: Path) -> None:
    sweeps = [
        new_sweep(BASE, {"global_batch_size": [batch]}, CPU, tmp_path, Budget())
        for batch in (128, 256, 512)
    ]
    assert len({sweep.name for sweep in sweeps}) == 1
    with ThreadPoolExecutor(3) as pool:
        kept = list(pool.map(lambda sweep: keep_name(sweep, tmp_path), sweeps))
    assert sorted(sweep.name for sweep in kept) == [f"sweep-digits-mlp-{n}" for n in (1, 2, 3)]
    assert all(load(tmp_path, sweep.name) == sweep for sweep in kept)


def test_a_second_sweep_of_a_folder_is_refused_while_the_first_makes_its_runs(
    tmp_path: Path,
) -> None:
    machine, other = Machine(), Machine()
    refusals: list[str] = []

    def start_another(_run: MadeRun) -> None:
        with pytest.raises(LabError) as refused:
            other.sweeping(keep_name(planned(tmp_path), tmp_path), tmp_path).go()
        refusals.append(str(refused.value))
        machine.meanwhile = lambda _run: None

    machine.meanwhile = start_another
    first = machine.sweeping(keep_name(planned(tmp_path), tmp_path), tmp_path)
    assert first.go().now.next_run is None
    assert "Another sweep is being made" in refusals[0]
    assert not other.names
    second = other.sweeping(load(tmp_path, "sweep-digits-mlp-2"), tmp_path)
    assert second.go().now.next_run is None


def test_a_cancelled_sweep_goes_on_with_the_run_that_it_was_at(tmp_path: Path) -> None:
    machine = Machine()
    first = machine.sweeping(planned(tmp_path), tmp_path)

    def cancel_in_the_third(run: MadeRun) -> None:
        if len(machine.names) == 3 and run.step is not None:
            first.cancel()

    machine.meanwhile = cancel_in_the_third
    assert first.go().now.next_run is not None
    assert len(load(tmp_path, first.sweep.name).runs) == 2
    cancelled = machine.names[2]
    machine.meanwhile = lambda _run: None
    second = machine.sweeping(load(tmp_path, first.sweep.name), tmp_path)
    assert second.go().now.next_run is None
    assert machine.names[3] == cancelled
    made = [run.run for run in second.sweep.runs]
    assert len(set(made)) == len(made)
    assert (tmp_path / f"stopped-1-{cancelled}").is_dir()


def test_a_killed_sweep_makes_no_finished_run_again(tmp_path: Path) -> None:
    machine = Machine()
    killed = machine.sweeping(planned(tmp_path), tmp_path)

    def die(_run: MadeRun) -> None:
        if len(machine.names) == 4:
            raise KeyboardInterrupt

    machine.meanwhile = die
    with pytest.raises(KeyboardInterrupt):
        killed.go()
    machine.meanwhile = lambda _run: None
    again = machine.sweeping(load(tmp_path, killed.sweep.name), tmp_path)
    again.go()
    # The fourth run was killed, so it is the only one that is made twice.
    assert machine.names[3] == machine.names[4]
    del machine.names[3]
    assert len(set(machine.names)) == len(machine.names)


def test_a_failed_run_takes_its_configuration_out(tmp_path: Path) -> None:
    machine = Machine()
    machine.failing = {"sweep-digits-mlp-1-c2-batch-128-1"}
    outcome = machine.sweeping(planned(tmp_path), tmp_path).go()
    why = {item.label: item.why for item in outcome.table}
    assert why["batch 128"] == "failed: The worker failed"
    assert outcome.winner is not None
    assert outcome.winner.label == "batch 64"


@pytest.mark.parametrize(
    "budget", [Budget(rounds=0), Budget(rounds=31), Budget(length_s=0.0), Budget(seconds=0.0)]
)
def test_a_budget_that_no_sweep_can_keep_is_refused(budget: Budget, tmp_path: Path) -> None:
    with pytest.raises(SpecError):
        planned(tmp_path, budget)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sweep = planned(tmp_path)
    with pytest.raises(LabError, match="cannot be written"):
        Machine().sweeping(sweep, tmp_path / "file").go()


@pytest.mark.parametrize(("left_out", "slower"), [(2, "1 was slower"), (1, "0 were slower")])
def test_what_predictions_left_out_is_checked_at_the_end(
    left_out: int, slower: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def why_pruned(_sweep: Sweep, turn: NextRun, _runs: Path) -> str | None:
        return "left out: made up" if turn.configuration == left_out else None

    monkeypatch.setattr(sweeping, "why_pruned", why_pruned)
    machine = Machine()
    plan = msgspec.structs.replace(planned(tmp_path), verifies=True)
    outcome = machine.sweeping(plan, tmp_path).go()
    assert [run.configuration for run in outcome.sweep.verified] == [left_out]
    assert len(machine.names) == len(outcome.sweep.runs) + 1
    assert slower in verified_text(outcome)
    assert outcome.winner is not None
    assert outcome.winner.index != left_out
    # Going on makes no run again.
    machine.sweeping(load(tmp_path, plan.name), tmp_path).go()
    assert len(machine.names) == len(outcome.sweep.runs) + 1
    unchecked = msgspec.structs.replace(outcome.sweep, verified=[])
    assert verified_text(results(unchecked)) == ""
