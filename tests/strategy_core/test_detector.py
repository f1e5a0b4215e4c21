"""What a step is, decided from events alone: no TensorFlow, no clock, no files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_core.tracing.calls import Call, Fetched, OfThread
from strategy_core.tracing.detector import MOST_CALLS, Detector, Opening
from strategy_core.tracing.units import Unit


@dataclass(eq=False)
class Step:
    """An open step that keeps what the detector sets of it."""

    step: int
    segment: int
    calls: list[Call] = field(default_factory=list)
    captured = False
    num_steps = 1
    examples: int | None = None
    ended_ns = 0
    begin_ns = 0
    first_ended_ns: int | None = None

    def began_at(self, _start_ns: int, begin_ns: int) -> None:
        self.begin_ns = begin_ns

    def add_wait(self, took_ns: int) -> None: ...

    def __exit__(self, *_raised: Any) -> None:
        self.num_steps = 0


class Strategy:
    pass


class Decided(Detector):
    """A detector that keeps its decisions. Its events have the names of the program's acts."""

    def __init__(self, num_here: int = 1) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.segments: list[Opening] = []
        self.notes: list[str] = []
        self.again: list[tuple[str, int]] = []
        self.all_calls: list[Call] = []
        self.in_graph: set[Unit] = set()
        self.strategy = Strategy()
        self._open: Step | None = None
        self._num_replicas = num_here
        self._fetched: list[Fetched] = []
        self.begin_step = self._begin
        self.leave_step = self._leave

    # -- decisions

    def _begin(self) -> Step:
        assert self._open is None or self._open.num_steps == 0, "two steps are open"
        self._open = Step(self.next_step, self._segment)
        return self._open

    def _leave(self, step: Step, _raised: Any) -> None:
        assert step is self._open
        step.calls = list(self._calls)
        self.steps.append(step)
        self._open = None

    @property
    def next_step(self) -> int:
        return sum(step.num_steps for step in self.steps)

    def note(self, message: str, **_fields: Any) -> None:
        if message not in self.notes:
            self.notes.append(message)

    def begin_segment(self, opening: Opening) -> tuple[int, int]:
        self.segments.append(opening)
        return 1, self._num_replicas

    def segment_begins(self, unit: Unit) -> None: ...
    def made_again(self, unit: Unit, step: Any) -> None:
        self.again.append((unit.name, step.step))

    def traced_for_workers(self, unit: Unit) -> None:
        pass

    def fetched_each(self, place: str) -> None:
        self.note(f"each is fetched at {place}")

    def batch_not_divided(self, unit: Unit, examples: int) -> None:
        self.note(f"{unit.name}: {examples} each")

    def divide(self, step: Step, calls: Sequence[Call]) -> None:
        step.num_steps = len(calls)

    def live_strategy(self) -> Any:
        return self.strategy

    def num_updates(self, unit: Unit) -> int | None:
        return None if unit.optimizer is None else 1

    def updates_in_graph(self, unit: Unit) -> bool:
        return unit in self.in_graph

    # -- what a program does

    def takes(self, examples: int = 16) -> None:
        """A batch."""
        fetched = Fetched()
        fetched.start_ns = fetched.begin_ns = 0
        fetched.iterator, fetched.num_examples = (lambda: None), examples  # type: ignore[assignment]
        if self.step is not None:
            self.boundary(None)
        self._fetched.append(fetched)

    def calls(self, unit: Unit, *, fails: bool = False, given: int | None = None) -> None:
        """A function, as `Session.begin_call` and `end_call` report it."""
        call = Call()
        call.unit, call.caller, call.start_ns, call.begin_ns = unit, OfThread(), 0, 0
        call.own_examples = given
        unit.num_calls += 1
        if unit.num_calls == 1 and unit.trains:
            self.prepare(unit, self._fetched)
        if self.step is not None:
            self.boundary(unit)
        if not unit.trains:
            self.other_call_done(call)
            return
        self.enter(call, self._fetched)
        if self.step is None:
            self.enter(call, self._fetched)
        if fails:
            self.drop()
        else:
            self.all_calls.append(call)
            self.returned(call)
        self._fetched = []

    def schedules(self, unit: Unit) -> Any:
        """A step for a worker of a `ClusterCoordinator`. Returns its result."""
        call = Call()
        call.unit, call.caller, call.start_ns, call.begin_ns = unit, OfThread(), 0, 0
        unit.num_calls += 1
        if unit.num_calls == 1:
            self.prepare(unit, self._fetched)
        result = object()
        self.scheduled(call, self._fetched, result)
        return result

    def computes(self, call: Call, *, is_update: bool) -> None:
        """A part of an eager step, as `Session.eager_part_done` reports it."""
        if self.step is None:
            self.enter(call, self._fetched)
        self.all_calls.append(call)
        self.eager_part_done(call, is_update=is_update)
        self._fetched = []

    def assigns(self) -> None:
        """A variable of the gradients, in its own Python."""
        self.is_assigned = True

    def steps_and_examples(self) -> list[tuple[int, int | None]]:
        """The program. Returns the number and the examples of its steps, in each recorded one."""
        self.close_step()
        return [(step.num_steps, step.examples) for step in self.steps]


def _function(name: str = "train", *, trains: bool = True, updates: bool = True) -> Unit:
    unit = Unit(name, "train.py:1")
    unit.trains, unit.is_update, unit.variables = trains, updates, [lambda: None]  # type: ignore[list-item]
    return unit


def test_a_call_with_a_batch_is_a_step_and_an_evaluation_is_not() -> None:
    program, train, evaluate = Decided(), _function(), _function("e", trains=False, updates=False)
    for examples in (16, 16, 4):
        program.takes(examples)
        program.calls(train)
        program.takes()
        program.calls(evaluate)
        program._fetched = []
    assert program.steps_and_examples() == [(1, 16), (1, 16), (1, 4)]
    assert len(program.segments) == 1


def test_two_functions_with_one_batch_are_one_step() -> None:
    program, first, second = Decided(), _function("first"), _function("second")
    for _ in range(4):
        program.takes()
        program.calls(first)
        program.calls(second)
    assert program.steps_and_examples() == [(1, 16)] * 4


def test_gradients_that_are_added_up_are_one_step_with_their_update() -> None:
    program, add = Decided(), _function("add", updates=False)
    update = _function("update", trains=False)
    for number in range(12):
        program.takes()
        program.calls(add)
        if number % 3 == 2:
            program.calls(update)
    assert program.steps_and_examples() == [(1, 48)] * 4
    assert "applies the gradients of several calls of `add`" in program.notes[0]


def test_calls_between_which_python_changes_the_variables_are_steps() -> None:
    program, add = Decided(), _function("add", updates=False)
    for number in range(12):
        program.takes()
        program.calls(add)
        if number % 3 == 2:
            program.assigns()
    assert sum(steps for steps, _ in program.steps_and_examples()) == 12
    assert "changes its variables outside of the calls" in program.notes[0]


def test_calls_that_no_update_follows_are_steps_after_some_of_them() -> None:
    program, add = Decided(), _function("add", updates=False)
    for _ in range(MOST_CALLS + 6):
        program.takes()
        program.calls(add)
    assert sum(steps for steps, _ in program.steps_and_examples()) == MOST_CALLS + 6


def test_a_critic_and_a_generator_in_turns_are_rounds() -> None:
    program, critic, generator = Decided(), _function("critic"), _function("generator")
    for _ in range(5):
        for _ in range(3):
            program.takes()
            program.calls(critic)
        program.takes()
        program.calls(generator)
    steps = program.steps_and_examples()
    assert len(program.segments) == 3  # one of each function, then one of their rounds
    assert [len(step.calls) for step in program.steps[-4:]] == [4] * 4
    assert steps[-1] == (1, 48)  # the generator has other batches


def test_each_replica_has_the_whole_batch_that_a_call_was_given() -> None:
    program, train = Decided(num_here=2), _function("train_on_batch")
    for _ in range(3):
        program.calls(train, given=256)
    assert program.steps_and_examples() == [(1, 512)] * 3
    assert program.notes == ["train_on_batch: 256 each"]


def test_a_function_that_is_made_in_each_step_has_one_segment() -> None:
    program, held = Decided(), []
    for _ in range(8):
        held.append(_function("made"))
        program.takes()
        program.calls(held[-1])
    assert sum(steps for steps, _ in program.steps_and_examples()) == 8
    assert len(program.segments) == 2
    assert program.again == [("made", number) for number in range(2, 8)]


def test_a_call_that_raises_is_no_step() -> None:
    program, train = Decided(), _function()
    for fails in (False, True, False):
        program.takes()
        program.calls(train, fails=fails)
    assert program.steps_and_examples() == [(1, 16), (1, 16)]


_EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("takes")),
        st.tuples(st.just("assigns")),
        st.tuples(st.just("calls"), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("steps_and_examples")),
    ),
    max_size=120,
)


@given(_EVENTS, st.lists(st.booleans(), min_size=12, max_size=12))
def test_whatever_a_program_does_its_steps_do_not_overlap(
    events: list[tuple[Any, ...]], are: list[bool]
) -> None:
    """No event raises; steps follow each other; each call is in one step at most."""
    program = Decided()
    kinds = zip(are[:6], are[6:], strict=True)
    units = [
        _function(f"f{n}", trains=trains, updates=updates)
        for n, (trains, updates) in enumerate(kinds)
    ]
    for name, *arguments in events:
        if name == "calls":
            number, fails = arguments
            program.calls(units[number], fails=fails)
        else:
            getattr(program, name)()
    program.steps_and_examples()
    numbers = [step.step for step in program.steps]
    assert numbers == sorted(set(numbers))
    recorded = [call for step in program.steps for call in step.calls]
    assert len(set(map(id, recorded))) == len(recorded)
    assert set(map(id, recorded)) <= set(map(id, program.all_calls))
    ended = [step.ended_ns for step in program.steps]
    assert ended == sorted(ended)


def test_the_detector_imports_no_tensorflow() -> None:
    code = "import sys, strategy_core.tracing.detector; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


pytestmark = pytest.mark.filterwarnings("error")


def test_tensors_that_two_replicas_get_are_shared() -> None:
    import threading

    from strategy_core.tracing.units import Unit

    def traced(*batches: tuple[object, ...]) -> tuple[object, ...]:
        unit = Unit("train_step", "train.py:9")
        waiting = threading.Barrier(len(batches))

        def replica(batch: tuple[object, ...]) -> None:
            unit.replica_gets(batch)
            waiting.wait()

        threads = [threading.Thread(target=replica, args=(batch,)) for batch in batches]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return unit.shared

    one, two, three, four = object(), object(), object(), object()
    assert traced((one, two), (one, two)) == (one, two)
    assert traced((one, two), (three, four)) == ()
    assert traced((one, two), (one, four)) == (), "one tensor is of each replica"


def test_steps_that_a_coordinator_is_given_end_together_with_join() -> None:
    program, train = Decided(), _function()
    for _ in range(2):
        for _ in range(3):
            program.schedules(train)
        program.joined(has_failed=False)
    assert program.steps_and_examples() == [(3, None), (3, None)]
    assert "several at a time" in program.notes[0]
    traced, later = (step.first_ended_ns for step in program.steps)
    assert traced is not None
    assert later is None


def test_a_coordinator_that_fetches_each_step_has_one_worker_at_work() -> None:
    program, train = Decided(), _function()
    for _ in range(4):
        program.result_fetched(program.schedules(train), lambda: "train.py:9")
    assert program.steps_and_examples() == [(1, None)] * 4
    assert program.notes == ["each is fetched at train.py:9"]


def test_a_result_of_an_earlier_round_ends_no_step() -> None:
    program, train = Decided(), _function()
    first = program.schedules(train)
    program.joined(has_failed=False)
    results = [program.schedules(train) for _ in range(2)]
    for result in (first, *results):
        program.result_fetched(result, lambda: "train.py:9")
    assert program.steps_and_examples() == [(1, None), (2, None)]


def test_scheduled_steps_of_which_one_raises_are_left_out() -> None:
    program, train = Decided(), _function()
    program.schedules(train)
    program.joined(has_failed=True)
    program.schedules(train)
    program.joined(has_failed=False)
    assert program.steps_and_examples() == [(1, None)]


def test_batches_that_vary_by_design_are_steps_with_their_own_examples() -> None:
    program, train = Decided(), _function()
    for examples in (32, 8, 24):
        program.takes(examples)
        program.calls(train)
    assert program.steps_and_examples() == [(1, 32), (1, 8), (1, 24)]
    assert len(program.segments) == 1


def test_an_eager_step_lasts_from_its_batch_to_the_update() -> None:
    program, tape = Decided(), _function("train.py:5", updates=False)
    tape.is_eager = True
    for _ in range(3):
        program.takes(16)
        call = Call()
        call.unit, call.caller, call.start_ns, call.begin_ns = tape, OfThread(), 0, 0
        tape.num_calls += 1
        if tape.num_calls == 1:
            program.prepare(tape, [])
        program.computes(call, is_update=False)
        program.computes(call, is_update=True)
    assert program.steps_and_examples() == [(1, 16)] * 3
    assert "which runs eagerly" in program.notes[0]
