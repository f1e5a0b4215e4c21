"""Steps of a traced program by a clock of the test's own: their times, and faults of the lab's."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strategy_core.recorder.stack_sampler import StackSampler
from strategy_core.tracing.calls import Call, Fetched
from strategy_core.tracing.faults import Faults
from strategy_core.tracing.session import FEWEST_INSTEAD, MOST_WARM_UPS, Session
from strategy_core.tracing.settings import STRICT_VARIABLE, Settings
from strategy_core.tracing.units import Unit
from strategy_profiles.run.manifest import create_run_file
from tests.event_records import read_records

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

_MS = 1_000_000


class Batches:
    """An iterator that the program has made."""


class Program:
    """Takes batches and calls functions, as the hooks report it. Each thing takes so many ms."""

    def __init__(self, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import tensorflow as tf

        create_run_file(run, recorded_by="record")
        self.now_ns = 7_000_000_000_000
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.now_ns)
        monkeypatch.setattr(time, "time_ns", lambda: self.now_ns)
        monkeypatch.delenv(STRICT_VARIABLE, raising=False)
        self.session = Session(Settings(str(run), os.getpid(), {}), Faults())
        self.session.profiler_begins()  # so nothing is captured
        self._run = run
        self._strategy = tf.distribute.get_strategy()

    def function(self, name: str, *, trains: bool = True) -> Unit:
        unit = Unit(name, "train.py:1")
        unit.strategy, unit.trains, unit.is_update = self._strategy, trains, trains
        return unit

    def passes(self, ms: int) -> None:
        self.now_ns += ms * _MS

    def take(self, batches: Batches, ms: int, examples: int = 8) -> None:
        fetched = self.session.begin_fetch(batches)
        self.passes(ms)
        assert fetched is not None
        self.session.end_fetch(fetched, None, lambda _batch: examples, None)

    def call(self, unit: Unit, ms: int, result: Any = None, error: Exception | None = None) -> None:
        call = self.session.begin_call(unit)
        self.passes(ms)
        assert call is not None
        self.session.end_call(call, result, error)

    def call_in_thread(self, unit: Unit, times: int) -> int | None:
        """Call a function so many times in a thread of its own, whose number is returned."""

        def calls() -> None:
            for _ in range(times):
                self.call(unit, 4)

        thread = threading.Thread(target=calls)
        thread.start()
        thread.join()
        return thread.ident

    def wall_input_examples_loss(self) -> list[tuple[float | None, ...]]:
        """Wall and input time in ms, examples and loss of each step; closes the recording."""
        assert self.session.recording is not None
        self.session.recording.recorder.close("finished")
        assert self.session.faults.error is None
        records = read_records(self._run / "worker-0-0" / "events.jsonl")
        fields = ("wall_ms", "input_ms", "examples", "loss")
        return [
            tuple(record[field] for field in fields)
            for record in records
            if record["kind"] == "step"
        ]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    return Program(tmp_path / "run", monkeypatch)


def test_a_step_lasts_from_its_batch_to_the_end_of_the_call(program: Program) -> None:
    import tensorflow as tf

    batches, train = Batches(), program.function("train")
    for number in range(3):
        program.take(batches, 2)
        program.passes(1)
        program.call(train, 4, tf.constant(float(number)))
        program.passes(10)
    assert program.wall_input_examples_loss() == [
        (7.0, 2.0, 8, 0.0),
        (7.0, 2.0, 8, 1.0),
        (7.0, 2.0, 8, 2.0),
    ]


def test_a_thread_that_trains_after_a_warm_up_in_another_one_is_recorded_and_sampled(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled: list[int | None] = []
    monkeypatch.setattr(StackSampler, "watch", lambda _self, thread: sampled.append(thread))
    program.session.stacks = StackSampler(0)
    train = program.function("train")
    program.call(train, 50)
    thread = program.call_in_thread(train, 30)
    assert sampled == [threading.get_ident(), thread]
    assert program.session.num_elsewhere == FEWEST_INSTEAD
    walls = [wall for wall, *_ in program.wall_input_examples_loss()]
    assert walls == [50.0] + [4.0] * (30 - FEWEST_INSTEAD)


def test_a_thread_that_has_trained_stays_recorded_while_it_does_no_step(program: Program) -> None:
    train = program.function("train")
    for _ in range(MOST_WARM_UPS + 1):
        program.call(train, 5)
    program.call_in_thread(program.function("other"), 30)
    program.call(train, 5)
    walls = [wall for wall, *_ in program.wall_input_examples_loss()]
    assert walls == [5.0] * (MOST_WARM_UPS + 2)


def test_a_step_without_a_batch_and_one_with_two_follow_usual_ones(program: Program) -> None:
    batches, others, train = Batches(), Batches(), program.function("train")
    for _ in range(2):
        program.take(batches, 2)
        program.call(train, 4)
    program.call(train, 5)
    program.take(batches, 1, examples=3)
    program.take(others, 2)
    program.call(train, 4)
    program.take(batches, 2)
    program.call(train, 4)
    usual = (6.0, 2.0, 8, None)
    assert program.wall_input_examples_loss() == [
        usual, usual, (5.0, None, None, None), (7.0, 1.0, 3, None), usual
    ]  # fmt: skip


def test_the_first_step_of_an_eager_loop_without_batches_is_recorded(program: Program) -> None:
    tape = program.function("tf.GradientTape")
    tape.is_eager, tape.is_update = True, False
    for ms in (9, 4, 4, 4):
        call = program.session.begin_eager(tape)
        assert call is not None
        program.passes(ms)
        for is_update in (False, True):
            program.session.eager_part_done(call, None, is_update=is_update)
    # The fourth step is open until another one begins.
    assert [wall for wall, *_ in program.wall_input_examples_loss()] == [9.0, 4.0, 4.0]


def test_a_call_that_raises_and_one_beside_the_training_are_no_steps(program: Program) -> None:
    batches, train = Batches(), program.function("train")
    evaluate = program.function("evaluate", trains=False)
    for error in (None, ValueError(), None):
        program.take(batches, 2)
        program.call(train, 4, error=error)
        program.take(batches, 2)
        program.call(evaluate, 3)
    assert program.wall_input_examples_loss() == [(6.0, 2.0, 8, None)] * 2


def _fail(*_: Any) -> Any:
    raise LookupError("of the lab's own")


Act = Callable[[Session, Unit], Any]

_ACTS: dict[str, Act] = {
    "begin_call": lambda session, unit: session.begin_call(unit),
    "end_call": lambda session, unit: session.end_call(_call(session, unit), None, None),
    "begin_fetch": lambda session, _unit: session.begin_fetch(Batches()),
    "end_fetch": lambda session, _: session.end_fetch(_fetched(session), None, _fail, None),
}


def _call(session: Session, unit: Unit) -> Call:
    call = Call()
    call.unit, call.caller = unit, session.this_thread
    return call  # the session has not begun it, so its end is a fault


def _fetched(session: Session) -> Fetched:
    fetched = Fetched()
    fetched.caller, fetched.begin_ns = session.this_thread, 0
    return fetched


@pytest.mark.parametrize("act", _ACTS)
def test_a_fault_in_a_step_ends_the_recording_and_not_the_program(
    program: Program, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    session, train = program.session, program.function("train")
    if act == "begin_call":
        monkeypatch.setattr(Session, "_claim", _fail)
    if act == "begin_fetch":
        monkeypatch.setattr(time, "time_ns", _fail)
    assert _ACTS[act](session, train) is None
    assert session.faults.error is not None
    assert session.begin_call(train) is None
    assert session.begin_fetch(Batches()) is None
