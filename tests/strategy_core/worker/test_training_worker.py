"""A worker hands over to a fresh one after so many changes: what they leave behind is bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from strategy_core.planning import reconfiguration
from strategy_core.processes import protocol
from strategy_profiles.spec.run_spec import RunSpec
from tests.event_records import read_records

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


class InstantTraining:
    """Steps and changes that take no time."""

    def __init__(
        self, spec: RunSpec, _recorder: Any, resume: Any, agreement: Any, *, is_same_run: bool
    ) -> None:
        assert not is_same_run
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


class SentCommands:
    """What a launcher sends while a worker waits for a fresh one."""

    def __init__(
        self, commands: tuple[protocol.Command, ...], together: tuple[protocol.Command, ...]
    ) -> None:
        self._commands = list(commands)
        self._pending = list(together)

    def pending(self) -> list[protocol.Command]:
        taken, self._pending = self._pending, []
        return taken

    def put_back(self, commands: list[protocol.Command]) -> None:
        self._pending = commands

    def next(self) -> protocol.Command:
        return self._commands.pop(0)

    def stop_with_launcher(self) -> None:
        """Its launcher does not end."""


@dataclass
class Played:
    """A run whose last scripted change takes a fresh worker."""

    said: list[dict[str, Any]]
    records: list[dict[str, Any]]
    asked_at: int
    """The step of that change."""

    @property
    def answers(self) -> list[tuple[int, str]]:
        answers = (record for record in self.records if record["kind"] == "answer")
        return [(answer["number"], answer["status"]) for answer in answers]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Played]:
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

    def play(*commands: protocol.Command, together: tuple[protocol.Command, ...] = ()) -> Played:
        said: list[dict[str, Any]] = []
        run = protocol.Run(1, str(tmp_path), 0, 0, spec.to_json())
        sent: Any = SentCommands(commands, together)
        worker = training_worker.WorkerRun(run, sent, said.append)
        assert worker.run() == protocol.EXIT_DONE
        records = read_records(tmp_path / "worker-0-0" / "events.jsonl")
        return Played(said, records, changes[most]["step"])

    return play


APPLIED = [(0, "applied")] * reconfiguration.MAX_TRACED
CROSSING = protocol.Reconfigure(3, {"global_batch_size": 4})


def test_the_change_after_the_last_one_goes_to_a_fresh_worker(play: Callable[..., Played]) -> None:
    played = play(protocol.Leave(2))
    assert played.answers == APPLIED
    assert played.said[-1]["replace"]["step"] == played.asked_at
    assert played.records[-1]["status"] == "replaced"


def test_a_change_that_crosses_with_a_replacement_is_answered(play: Callable[..., Played]) -> None:
    played = play(CROSSING, protocol.Leave(4))
    assert played.answers == [*APPLIED, (3, "rejected")]


def test_a_change_that_crosses_with_a_replacement_that_failed_is_made_afterwards(
    play: Callable[..., Played],
) -> None:
    played = play(CROSSING, protocol.Resume(4, "no memory"), protocol.Leave(5))
    assert played.answers == [*APPLIED, (0, "rejected")]
    assert [said["replace"]["number"] for said in played.said if "replace" in said] == [0, 3]


@pytest.mark.parametrize(
    ("ends", "answers", "moves"),
    [
        ((protocol.Leave(4),), [(3, "rejected")], [2]),
        ((protocol.Resume(4, "no memory"), protocol.Leave(5)), [(2, "rejected")], [2, 3]),
    ],
)
def test_of_two_changes_at_once_the_second_is_answered_though_the_first_moves_the_run(
    play: Callable[..., Played],
    monkeypatch: pytest.MonkeyPatch,
    ends: tuple[protocol.Command, ...],
    answers: list[tuple[int, str]],
    moves: list[int],
) -> None:
    monkeypatch.setattr(reconfiguration, "MAX_TRACED", 0)
    both = tuple(protocol.Reconfigure(number, {"global_batch_size": 32}) for number in (2, 3))
    played = play(*ends, together=both)
    assert played.answers == answers
    assert [said["replace"]["number"] for said in played.said if "replace" in said] == moves


def test_a_card_that_another_run_has_refuses_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strategy_core.worker import training_worker

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(training_worker.parent_death, "print_into", lambda folder: folder.mkdir())
    monkeypatch.setattr(training_worker.logical_devices, "create_logical_devices", lambda *_: None)
    monkeypatch.setattr(training_worker.logical_devices, "visible_gpus", lambda: [0])
    monkeypatch.setattr(training_worker.card_locks, "uuid_of", lambda _card: "uuid-0")
    training_worker.card_locks.take([0], tmp_path / "other")
    said: list[dict[str, Any]] = []
    (own := tmp_path / "own").mkdir()
    run = protocol.Run(1, str(own), 0, 0, RunSpec(devices="cpu:2").to_json())
    nothing: Any = SentCommands((), ())
    assert training_worker.WorkerRun(run, nothing, said.append).run() == protocol.EXIT_REFUSED
    assert f"{tmp_path / 'other'}' (process" in said[-1]["failed"]["message"]
