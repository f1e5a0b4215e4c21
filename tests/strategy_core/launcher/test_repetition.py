"""Repeated runs: in turns, the order drawn by lot, and taken up where they were stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from strategy_core.launcher import repetition
from strategy_core.launcher.repetition import MOST_AUTO, Plan, Repetition, new_plan
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import RunSpec
from tests.synthetic import write_run

A = RunSpec(devices="cpu:2")
B = A.with_changes({"devices": "cpu:4"})


class Machine:
    """Records made-up runs; keeps which, in order."""

    def __init__(self, step_ms: Callable[[str, int], float] = lambda _name, _place: 20.0) -> None:
        self.names: list[str] = []
        self.endings: dict[str, str] = {}
        self._step_ms = step_ms

    def record(self, _spec: RunSpec, folder: Path) -> None:
        turn = len(self.names)
        self.names.append(folder.name)
        write_run(
            folder,
            steps=24,
            windows=0,
            marks=False,
            placement=False,
            memory=False,
            noise=0.0,
            seed=turn,
            step_ms=self._step_ms(folder.name, turn),
            begins_s=60.0 * turn,
            ending=self.endings.get(folder.name, "finished"),
        )


def test_each_pair_is_recorded_together_in_an_order_that_varies(tmp_path: Path) -> None:
    machine = Machine()
    plan = new_plan(tmp_path / "x", [A, B])
    outcome = Repetition(plan, machine.record).go(8)
    pairs = [set(machine.names[i : i + 2]) for i in range(0, 16, 2)]
    assert pairs == [{f"x-a-{n}", f"x-b-{n}"} for n in range(1, 9)]
    firsts = {plan.order(number)[0] for number in range(1, 40)}
    assert firsts == {"a", "b"}
    assert outcome.is_complete
    assert not outcome.failed
    compared = outcome.comparison()
    assert compared is not None
    assert len(compared.times.pairs) >= 6


def test_one_spec_alone_has_no_comparison(tmp_path: Path) -> None:
    machine = Machine()
    outcome = Repetition(new_plan(tmp_path / "x", [A]), machine.record).go(3)
    assert machine.names == ["x-a-1", "x-a-2", "x-a-3"]
    assert outcome.comparison() is None


def test_the_same_request_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    machine = Machine()
    plan = new_plan(tmp_path / "x", [A, B])
    stopped = plan.run_folder(plan.order(2)[0], 2).name
    machine.endings[stopped] = "stopped"
    outcome = Repetition(plan, machine.record).go(3)
    assert not outcome.is_complete
    assert machine.names[-1] == stopped
    assert outcome.failed == (f"{stopped} (stopped)",)
    machine.endings.clear()
    again = new_plan(tmp_path / "x", [A, B]).resumed()
    assert again.seed == plan.seed
    assert Repetition(again, machine.record).go(3).is_complete
    assert sorted(machine.names) == sorted(
        [*(f"x-{side}-{n}" for side in "ab" for n in (1, 2, 3)), stopped]
    )
    assert (tmp_path / f"stopped-1-{stopped}").is_dir()


def test_a_failed_run_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    machine = Machine()
    machine.endings["x-a-2"] = "failed"
    outcome = Repetition(new_plan(tmp_path / "x", [A, B]), machine.record).go(4)
    assert outcome.failed == ("x-a-2 (failed)",)
    assert [len(runs) for runs in outcome.finished.values()] == [3, 4]


def test_failures_one_after_the_other_end_the_repetition(tmp_path: Path) -> None:
    machine = Machine()
    machine.endings = {f"x-{side}-{n}": "failed" for side in "ab" for n in range(1, 9)}
    outcome = Repetition(new_plan(tmp_path / "x", [A, B]), machine.record).go(8)
    assert not outcome.is_complete
    assert len(machine.names) == 3


def test_equal_runs_need_no_more_than_the_first_ones(tmp_path: Path) -> None:
    machine = Machine(lambda _name, turn: 20.0 + 0.01 * (turn % 3))
    outcome = Repetition(new_plan(tmp_path / "x", [A, B]), machine.record).go(None)
    assert (outcome.num_runs, len(machine.names)) == (6, 12)


@pytest.mark.slow
def test_runs_that_differ_need_more(tmp_path: Path) -> None:
    machine = Machine(lambda _name, turn: 20.0 + 1.2 * (turn * 7 % 5))
    said: list[str] = []
    plan = Plan(tmp_path / "x", (A, B), seed=0)
    outcome = Repetition(plan, machine.record, said.append).go(None)
    assert outcome.needed is not None
    assert 6 < len(machine.names) // 2 == outcome.num_runs <= MOST_AUTO
    assert any("runs a side are needed" in line for line in said)
    assert any(line.startswith("Record longer runs first") for line in said)


def test_runs_that_need_more_than_are_made_say_so_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repetition, "PILOT_RUNS", 4)
    monkeypatch.setattr(repetition, "MOST_AUTO", 5)
    monkeypatch.setattr(repetition, "FAR_MORE", 1000)
    machine = Machine(lambda _name, turn: 20.0 + 1.2 * (turn * 7 % 5))
    said: list[str] = []
    plan = Plan(tmp_path / "x", (A, B), seed=0)
    Repetition(plan, machine.record, said.append).go(None)
    notes = [line for line in said if "runs a side are needed" in line]
    assert notes[0].endswith("with the spread seen so far; --repeat auto makes 5")


def test_far_more_runs_than_are_made_end_it_after_the_first_and_can_be_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repetition, "PILOT_RUNS", 4)
    monkeypatch.setattr(repetition, "MOST_AUTO", 5)
    machine = Machine(lambda _name, turn: 20.0 + 1.2 * (turn * 7 % 5))
    said: list[str] = []
    plan = Plan(tmp_path / "my x", (A, B), seed=0)
    outcome = Repetition(plan, machine.record, said.append).go(None)
    assert outcome.needed is not None
    assert outcome.needed > 4 * 5
    assert (outcome.is_complete, outcome.num_runs, len(machine.names)) == (True, 4, 8)
    further = f"-o '{tmp_path}/my x' --repeat 5, which may not be enough"
    assert any(line.endswith(further) and "auto stops at 4" in line for line in said)
    assert Repetition(plan.resumed(), machine.record).go(5).num_runs == 5
    assert Repetition(plan.resumed(), machine.record).go(None).num_runs == 5
    assert len(machine.names) == 10


def test_no_more_runs_are_named_than_can_be_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repetition, "PILOT_RUNS", 4)
    monkeypatch.setattr(repetition, "MOST_AUTO", 4)
    monkeypatch.setattr(repetition, "MOST_ASKED", 6)
    machine = Machine(lambda _name, turn: 20.0 + 1.2 * (turn * 7 % 5))
    said: list[str] = []
    Repetition(Plan(tmp_path / "x", (A, B), seed=0), machine.record, said.append).go(None)
    assert any(line.endswith("--repeat 6, which may not be enough") for line in said)


def test_other_specs_under_the_same_name_are_refused(tmp_path: Path) -> None:
    Repetition(new_plan(tmp_path / "x", [A, B]), Machine().record).go(1)
    with pytest.raises(LabError, match="the plan of other repetitions"):
        new_plan(tmp_path / "x", [A]).resumed()


def test_commands_that_begin_at_once_under_one_name_do_not_share_its_runs(tmp_path: Path) -> None:
    first, second = (new_plan(tmp_path / "x", [A, B]) for _ in range(2))
    first.save()
    first.save()
    machine = Machine()
    with pytest.raises(LabError, match=r"just begun the repetitions of .*x\.repeat\.json"):
        Repetition(second, machine.record).go(3)
    assert not machine.names
    assert second.resumed() == first


def test_specs_of_two_workloads_are_refused() -> None:
    with pytest.raises(LabError, match="different workloads: digits-cnn and digits-mlp"):
        new_plan(Path("x"), [A, A.with_changes({"workload": "digits-mlp"})])
