"""What a step of a traced program is: events in, decisions out. Imports no TensorFlow.

The hooks translate the calls of TensorFlow into events, which are the methods of `Detector` under
"events"; what the detector decides it does by the methods under "decisions", which a subclass
defines. The rule for custom loops: a call of a function that computes gradients is a step. Several
such functions that are called one after the other, with no batch taken and none of them repeated in
between, are one step; so is a round of functions that train in turns (`rounds.py`).
"""

from __future__ import annotations

import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from strategy_core.tracing.calls import Call, Fetched
from strategy_core.tracing.rounds import Round, Turns
from strategy_core.tracing.units import Unit

MOST_SWITCHES = 16
"""A program that goes back and forth between functions more often stays in one segment."""
MOST_CALLS = 64
"""After so many calls without an update of the variables, each call is a step."""
FEWEST_MADE = 3
"""Functions of one place, each called once, from which on a new one is the same one again."""
FEWEST_FETCHED = 3
"""Steps, each fetched before the next one, from which on that is how the program does it."""
_NOT_RAISED = (None, None, None)
"""What `__exit__` gets of a block that ended without an exception."""
_HOW_TO_COUNT = (
    "record the program with `with strategy_core.record(RUN) as recorder:`, and put all that a "
    "step does into `with recorder.step():`"
)


class Step(Protocol):
    """An open step: what the detector sets of a `RecordedStep`."""

    step: int
    captured: bool
    num_steps: int
    examples: int | None
    ended_ns: int
    first_ended_ns: int | None

    def began_at(self, start_ns: int, begin_ns: int) -> None: ...
    def add_wait(self, took_ns: int) -> None: ...
    def __exit__(self, *raised: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Opening:
    """A segment that is to be opened."""

    number: int
    owner: Any
    """The function or model whose steps it has."""
    same_as: Sequence[int]
    """Segments that the same functions had before."""
    strategy: Any
    batch_size: int | None = None
    variables: Any = ()


class Detector(ABC):
    """Groups the calls of one thread to steps, and the steps to segments.

    A segment has one strategy and the functions of its step.
    """

    begin_step: Callable[[], Any]
    """Begins the next step. A function as an attribute: it is called in each step."""
    leave_step: Callable[[Any, tuple[Any, ...]], None]
    """Ends a step."""

    def __init__(self) -> None:
        self.iterators: set[weakref.ref[Any]] = set()
        """Iterators whose batches were used in steps, as long as they live."""
        self._segment_of: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        """Segment by function."""
        self._num_segments = 0
        self._segment = -1
        self._owner: Any = lambda: None
        """Weak reference to the function or model of the segment in force."""
        self._num_workers = 1
        """Processes that have as many examples in a step as this one, in the segment in force."""
        self._num_here = 1
        """Replicas of this process in the segment in force."""
        self._has_begun = False
        """Whether a step of the segment in force has begun."""
        self._num_without_batch = 0
        """Steps of the segment in force for which no batch was taken."""
        self._num_switches = 0
        self._turns = Turns()
        self._round: Round | None = None
        """What a step of the segment in force is, if functions train in turns."""
        self._alone: dict[Unit, int] = {}
        """The segment that each of them but the first had before."""
        self._newest: Unit | None = None
        """The function that was found last to train."""
        self._num_made = 0
        """Functions found one after the other that were made at one place of the program."""
        self.step: Any = None
        """The open `Step`, if any."""
        self._called: list[Unit] = []
        """Functions called in the open step."""
        self._calls: list[Call] = []
        """The calls of the open step that compute gradients."""
        self._is_updated = False
        """Whether the variables were updated in the open step."""
        self._has_late_update: bool | None = None
        """Whether a later call applies the gradients of others; None if that is not known yet."""
        self.is_assigned = False
        """Whether the program's own Python has changed variables since the step began."""
        self._last: Unit | None = None
        """The function whose call ends a step of this segment, once that is known."""
        self._ended_ns = 0
        self._num_steps = 1
        self.num_scheduled = 0
        """Steps that a `ClusterCoordinator` was given since the program has waited for all."""
        self._scheduled: Call
        """The first of them."""
        self._awaited: set[Any] = set()
        """Weak references to those of their results that were not fetched."""
        self._num_fetched_each = 0
        """Steps that were fetched before another one was scheduled."""

    # -- decisions

    @property
    @abstractmethod
    def next_step(self) -> int:
        """The number of the next step."""

    @abstractmethod
    def note(self, message: str, **fields: Any) -> None:
        """Record a note, once."""

    @abstractmethod
    def begin_segment(self, opening: Opening) -> tuple[int, int]:
        """Open a segment. Returns how many processes have as many examples in a step as this one,
        and the replicas of this process."""

    @abstractmethod
    def segment_begins(self, unit: Unit) -> None:
        """The first step of a segment has begun with a call."""

    @abstractmethod
    def made_again(self, unit: Unit, step: Any) -> None:
        """The program has made the function of a step again."""

    @abstractmethod
    def batch_not_divided(self, unit: Unit, examples: int) -> None:
        """Each replica of this process trains on all of a batch."""

    @abstractmethod
    def traced_for_workers(self, unit: Unit) -> None:
        """A function was traced that the workers of a coordinator run."""

    @abstractmethod
    def fetched_each(self, place: str) -> None:
        """The program waits, at this line, for each step of a coordinator before the next one."""

    @abstractmethod
    def divide(self, step: Any, calls: Sequence[Call]) -> None:
        """Each of these calls is a step of its own."""

    # -- questions to the program

    @abstractmethod
    def live_strategy(self) -> Any:
        """The strategy of a function that runs under none."""

    @abstractmethod
    def num_updates(self, unit: Unit) -> int | None:
        """Updates that the optimizer of a function has done; None if it does not tell."""

    @abstractmethod
    def updates_in_graph(self, unit: Unit) -> bool:
        """Whether the graph of a function changes variables of its gradients."""

    # -- segments

    def prepare(self, unit: Unit, fetched: Sequence[Fetched]) -> None:
        """A function is being traced, and turned out to train: record its graph."""
        if self.step is not None and not fetched:
            self._segment_of[unit] = self._segment  # a part of the open step
            return
        if self._is_made_again(unit):
            self._segment_of[unit] = self._segment
            return
        self.open_segment(unit, unit.strategy or self.live_strategy())

    def _is_made_again(self, unit: Unit) -> bool:
        """Whether the program makes a function again for each call of it, as in a loop.

        Each would have a segment of one step, of which nothing can be compared.
        """
        before, self._newest = self._newest, unit
        is_again = (
            before is not None
            and bool(unit.line)
            and (before.name, before.line) == (unit.name, unit.line)
            and before.strategy is unit.strategy
            and before.num_calls == 1
        )
        self._num_made = self._num_made + 1 if is_again else 1
        return self._num_made >= FEWEST_MADE

    def open_segment(
        self,
        owner: Any,
        strategy: Any,
        batch_size: int | None = None,
        variables: Any = (),
        in_turns: Round | None = None,
    ) -> None:
        """Begin a segment for the steps of `owner`, whose functions are instantiated next.

        Functions `in_turns` are in segments of their own so far.

        `batch_size` is that of the steps of this process. None if it is not known before them: how
        many batches a step takes depends on what updates the variables.
        """
        self.close_step()
        number, self._num_segments = self._num_segments, self._num_segments + 1
        owners = [owner] if in_turns is None else in_turns.units
        known = [self._segment_of.get(each) for each in owners]
        same_as = [*dict.fromkeys(before for before in known if before is not None)]
        opening = Opening(number, owner, same_as, strategy, batch_size, variables)
        self._num_workers, self._num_here = self.begin_segment(opening)
        self._has_begun = False
        self._num_without_batch = 0
        self._calls = []
        self._alone = {each: self._segment_of[each] for each in owners[1:]}
        self._segment = number
        self._segment_of.update(dict.fromkeys(owners, number))
        self._owner = weakref.ref(owner)
        self._turns.begin(owner)
        self._round = in_turns
        self._last, self._has_late_update = None, None if in_turns is None else False

    def _come_back_to(self, unit: Unit) -> None:
        """Begin a segment like an earlier one, if the one in force is not of this function."""
        segment = self._segment_of.get(unit)
        if segment is None or (segment != self._segment and self._num_switches < MOST_SWITCHES):
            self._num_switches += segment is not None
            in_turns = self._turns.round_before(unit)
            self.open_segment(unit, unit.strategy or self.live_strategy(), in_turns=in_turns)
            if in_turns is not None:
                names = " and ".join(place_of(each) for each in in_turns.units)
                self.note(f"{names} train in turns: a step is a round of calls of them all")

    # -- events

    def boundary(self, unit: Unit | None) -> None:
        """A batch is about to be taken (None), or a function to be called: end the step if it is
        whole."""
        if self._round is not None:
            if self._round.is_over(_units(self._calls), unit):
                self.close_step()
            return
        if self.is_assigned and not self._is_updated and self._has_late_update is None:
            self._updated_outside()
        if unit is not None and unit not in self._called:
            return
        if self._is_updated or self._has_late_update is False or not self._called:
            self.close_step()

    def enter(self, call: Call, fetched: Sequence[Fetched]) -> None:
        """Begin a step with a call and the batches that were taken for it, or add to the step."""
        unit, call.fetched = call.unit, fetched
        for each in fetched:
            if each.step is None and (iterator := each.iterator()) is not None:
                self.iterators.add(weakref.ref(iterator, self.iterators.discard))
        if self.step is None:
            if self._owner() is not unit:
                self._come_back_to(unit)
            step = self.step = self.begin_step()
            self._called, self._calls = [], []
            self._num_steps, self._is_updated, self.is_assigned = 1, False, False
            if unit is self._newest and unit.num_calls == 1 and self._has_begun:
                self._first_call(unit, step)
            if not self._has_begun:
                self.segment_begins(unit)
            self._has_begun = True
            if not fetched or fetched[-1].step is not step:  # else it began with its batch
                self._begin_before(step, call)
        else:
            for each in fetched:
                if each.step is None:
                    self.step.add_wait(each.took_ns)
        if call.iterations is None and unit.may_loop and unit.num_calls > 1:
            call.iterations = self.num_updates(unit)

    def _first_call(self, unit: Unit, step: Any) -> None:
        """A function is called for the first time, in a segment that has steps."""
        if self._num_made >= FEWEST_MADE and not unit.run_at:
            self.made_again(unit, step)

    def _begin_before(self, step: Step, call: Call) -> None:
        """Have a step begin with its call, or with a batch that was taken for it, unless it began
        with one of its batches already."""
        if step.captured or any(each.step is step for each in call.fetched):
            return
        step.began_at(*call.first_began())
        for each in call.fetched:
            step.add_wait(each.took_ns)

    def returned(self, call: Call) -> None:
        """A call of the open step that computes gradients has returned."""
        unit = call.unit
        if unit not in self._called:  # as `_part_done` does
            self._called.append(unit)
        call.ended_ns = self._ended_ns = time.monotonic_ns()
        self._calls.append(call)
        self._is_updated |= bool(unit.optimizers) or unit.is_update
        if self._has_late_update is None:
            self._find_update(unit)
        if self._round is not None:
            self._part_of_round_done(self._round)
        elif unit is self._last:
            self.close_step()
        if not self._is_updated and self._has_late_update is not False:
            self._give_up_if_long(unit)

    def _part_of_round_done(self, in_turns: Round) -> None:
        """A call of functions that train in turns has returned."""
        called = _units(self._calls)
        if in_turns.is_given_up(called):
            self._round = None
            self._segment_of.update(self._alone)  # the next call of another begins a segment
        if self._round is None or in_turns.is_over(called):
            self.close_step()

    def other_call_done(self, call: Call) -> None:
        """A call that computes no gradients has returned.

        It belongs to the open step if it applies the gradients which the step's other calls have
        computed. The first step is open until the next batch is taken, so it shows with which
        call every step ends.
        """
        unit = call.unit
        if self.step is None:
            if unit.optimizers:
                self.note(
                    f"{place_of(unit)} applies gradients that other calls have computed, but not "
                    "in every step: its time and its collectives are between the steps, not in "
                    f"them. To count them: {_HOW_TO_COUNT}"
                )
            return
        if not unit.optimizers and not unit.is_update:
            return
        self._part_done(unit)
        self._has_late_update = self._is_updated = True
        if len(self._calls) > 1:
            self.note(
                f"{place_of(unit)} applies the gradients of several calls of "
                f"{place_of(self._called[0])}: a step lasts from the batch of the first of these "
                "calls to the end of the update"
            )
        if unit is self._last:
            self.close_step()

    def eager_part_done(self, call: Call, *, is_update: bool) -> None:
        """A part of the open step has returned; the next batch or tape closes the step."""
        if self.step is None:
            return
        self._part_done(call.unit)
        if not self._calls or self._calls[-1] is not call:
            self._calls.append(call)
        call.ended_ns = self._ended_ns
        if is_update:
            self._has_late_update = self._is_updated = True
        elif self._has_late_update is None:
            self._find_update(call.unit)
        if self._round is not None and self._round.is_given_up(_units(self._calls)):
            self._part_of_round_done(self._round)
        elif self._called[0] is call.unit:
            self.note(
                f"Steps are found by {place_of(call.unit)}, which runs eagerly: a step lasts from "
                "its batch, or from the tape's begin if no batch is taken, until the last gradient "
                "or the optimizer's update"
            )
        self._give_up_if_long(call.unit)

    def _part_done(self, unit: Unit) -> None:
        if unit not in self._called:
            self._called.append(unit)
        self._ended_ns = time.monotonic_ns()

    def scheduled(self, call: Call, fetched: Sequence[Fetched], result: Any) -> None:
        """A `ClusterCoordinator` was given a step, for a weak reference to its result.

        The open step begins with the first one. It ends with `join`, or once each was fetched. The
        first step of a function ends with `schedule`, which traces it: its work is in the others,
        or the tracing would be in all of them.
        """
        if not self.num_scheduled:
            self._scheduled = call
            self.enter(call, fetched)
            if call.unit.num_calls == 1 and self.step is not None:
                self.step.first_ended_ns = time.monotonic_ns()
                self.traced_for_workers(call.unit)
        self.num_scheduled += 1
        self._awaited.add(result)

    def result_fetched(self, result: Any, place: Callable[[], str]) -> None:
        """The result of a scheduled step has arrived, at a line of the program."""
        if result not in self._awaited:
            return
        self._awaited.discard(result)
        if self._awaited:
            return
        self._num_fetched_each = self._num_fetched_each + 1 if self.num_scheduled == 1 else 0
        self.joined(has_failed=False)
        if self._num_fetched_each == FEWEST_FETCHED:
            self.fetched_each(place())

    def joined(self, *, has_failed: bool) -> None:
        """Every scheduled step is done, or one of them raised."""
        num_steps, self.num_scheduled = self.num_scheduled, 0
        self._awaited = set()
        if has_failed:
            self.drop()
            return
        self._part_done(self._scheduled.unit)
        self._num_steps = num_steps
        if num_steps > 1:
            self.note(
                "Workers do the steps between two calls of `ClusterCoordinator.join`, several at a "
                "time; each gets the same part of the time from the first `schedule` to the end of "
                "`join`, the tracing left out"
            )
        self.close_step()

    def drop(self) -> None:
        """Leave out the open step, which raised, but not those of its calls that may be steps."""
        if self.step is None:  # as before each step of `fit`
            return
        if self._has_late_update is None and self._calls:
            self.close_step()
            return
        step, self.step = self.step, None
        step.__exit__(RuntimeError, None, None)

    # -- which call updates the variables

    def _find_update(self, unit: Unit) -> None:
        """A call that computes gradients has returned: find out whether it applies them, too.

        If neither its graph nor a hook shows that, a later call may. If it has no variables that
        the hooks know, each call counts as an update.
        """
        unit.is_update = unit.is_update or self.updates_in_graph(unit)
        is_known = bool(unit.optimizers) or unit.is_update
        # Between two eager gradients, the program's own Python may have changed them.
        is_between = unit.is_eager and self.is_assigned and len(self._calls) > 1
        if not is_known and not is_between and unit.variables:
            return
        self._is_updated = True
        self._has_late_update = is_known and len(self._called) > 1
        if not self._has_late_update and len(self._calls) > 1:
            self.close_step()

    def _updated_outside(self) -> None:
        """The variables have other values than after the last call."""
        self._has_late_update = False
        if len(self._calls) > 1:
            self.note(
                "The program changes its variables outside of the calls that compute gradients: "
                f"each call of {place_of(self._called[0])} is a step. To have one step per update: "
                f"{_HOW_TO_COUNT}"
            )

    def _give_up_if_long(self, unit: Unit) -> None:
        if self._is_updated or self._has_late_update is False or len(self._calls) < MOST_CALLS:
            return
        self._has_late_update = False
        self.note(
            f"{MOST_CALLS} calls of {place_of(unit)} were followed by no update of the variables: "
            f"each call is a step. If a later call applies their gradients: {_HOW_TO_COUNT}"
        )
        self.close_step()

    # -- the end of a step

    def close_step(self) -> None:
        """End the open step, if any, when its last call returned.

        Calls that no update has followed are steps of their own if there is no late update, and no
        step otherwise.
        """
        step, self.step = self.step, None
        if step is None:
            return
        if not self._called or (self._has_late_update and not self._is_whole()):
            step.__exit__(RuntimeError, None, None)
            return
        if self._round is not None and not self._is_round(self._round):
            step.__exit__(RuntimeError, None, None)
            return
        self._last = self._called[-1]
        step.num_steps = self._num_steps
        calls = self._calls
        if self._has_late_update or self._round is not None:
            step.examples = self._num_examples()
        elif len(calls) > 1 and len(self._called) == 1:
            self.divide(step, calls)
        elif calls and (given := calls[0].own_examples) is not None:
            step.examples = given * self._num_here * self._num_workers
            if self._num_here > 1:
                self.batch_not_divided(calls[0].unit, given)
        elif calls and calls[0].fetched:
            examples = calls[0].fetched[0].num_examples
            step.examples = None if examples is None else examples * self._num_workers
        elif calls:
            self._note_no_batch()
        step.ended_ns = self._ended_ns
        self.leave_step(step, _NOT_RAISED)

    def _num_examples(self) -> int | None:
        """Examples of all calls of the function that is called first; None if one is unknown.

        The other functions get the same batches, or what these have computed.
        """
        own = [call.num_examples for call in self._calls if call.unit is self._calls[0].unit]
        if None in own:
            return None
        return self._num_workers * sum(examples for examples in own if examples is not None)

    def _is_round(self, in_turns: Round) -> bool:
        """Whether functions that train in turns have each had one."""
        if in_turns.is_begun_by(_units(self._calls)):
            return True
        self.note(
            f"The last calls of {place_of(self._called[0])} are in no step: no round is whole"
        )
        return False

    def _is_whole(self) -> bool:
        """Whether the open step has all calls up to an update; notes it if some are left over."""
        if not self._is_updated:
            self.note(
                f"The last calls of {place_of(self._called[0])} are in no step: no update has "
                "followed them"
            )
            return False
        # A recording that begins while the program runs may begin between two updates.
        is_first = self.next_step == 0 and self._last is None
        if is_first and self._calls[0].unit.num_calls > len(self._calls):
            self._last = self._called[-1]
            return False
        return True

    def _note_no_batch(self) -> None:
        """Note that the step has no batch whose examples could be counted."""
        self._num_without_batch += 1
        if self._num_without_batch == 2:  # the first may be a call to build the model
            self.note(
                f"The number of examples in a step of {place_of(self._called[0])} is unknown: no "
                "batch is taken from a `tf.data` dataset, outside of functions, before its call. "
                "To have it, iterate over a dataset and call the function with its batches"
            )


def _units(calls: Sequence[Call]) -> list[Unit]:
    return [call.unit for call in calls]


def place_of(unit: Unit) -> str:
    """A function as notes name it."""
    return f"`{unit.name}` ({unit.line})" if unit.line else f"`{unit.name}`"
