"""The steps of a traced program, as they go into its run folder."""

from __future__ import annotations

import functools
import math
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.recorder.graph_trace import Variables
from strategy_core.recorder.program import (
    about_missing_devices,
    join_run,
    seen_strategy,
    segment_of,
)
from strategy_core.recorder.recorder import Recorder
from strategy_core.recorder.stack_sampler import StackSampler
from strategy_core.recorder.step import RecordedStep, StepResult
from strategy_core.tracing.assigned import updates_in_graph
from strategy_core.tracing.calls import Call, Fetched
from strategy_core.tracing.first_graphs import FirstGraphs
from strategy_core.tracing.own_lines import say
from strategy_core.tracing.rounds import Round, Turns
from strategy_core.tracing.settings import Settings
from strategy_core.tracing.several_steps import iterations
from strategy_core.tracing.step_calls import StepCalls
from strategy_core.tracing.units import Unit
from strategy_core.tracing.values import is_plain, number_in, plain_devices, why_not_read
from strategy_lab.profiles.run.events import (
    FETCHED_EACH,
    IN_TURNS,
    MADE_AGAIN,
    NO_OPS_IN,
    OWN_PROFILER,
    WHOLE_BATCH_EACH,
    WHY_NO_OPS,
    Note,
    Retraced,
    SegmentOpened,
)
from strategy_lab.profiles.run.topology import has_coordinator
from strategy_lab.profiles.spec.run_spec import Capture

MOST_SWITCHES = 16
"""A program that goes back and forth between functions more often stays in one segment."""

MOST_CALLS = 64
"""After so many calls without an update of the variables, each call is a step."""
FEWEST_MADE = 3
"""Functions of one place, each called once, from which on a new one is the same one again."""
_TENSOR = tf.Tensor
_NOT_RAISED = (None, None, None)
"""What `__exit__` gets of a block that ended without an exception."""

_HOW_TO_COUNT = (
    "record the program with `with strategy_core.record(RUN) as recorder:`, and put all that a "
    "step does into `with recorder.step():`"
)
_ABOUT_DTENSOR = (
    "The program computes on a mesh of `tf.experimental.dtensor`. Its steps are recorded. The "
    "devices of the mesh, its layouts and its all-reduces are not: what is said of one replica is "
    "true of the whole mesh"
)
_GRAPHS_LEFT = "The program's own `tf.summary.trace_on` collected the graph"


class Recording:
    """Writes the steps of one thread. A segment has one strategy and the functions of its step."""

    def __init__(
        self,
        settings: Settings,
        graphs: FirstGraphs | None = None,
        stacks: StackSampler | None = None,
    ) -> None:
        capture = Capture.model_validate(settings.capture)
        self.recorder: Recorder = join_run(Path(settings.run), capture, stacks)
        self.iterators: set[weakref.ref[Any]] = set()
        """Iterators whose batches were used in steps, as long as they live."""
        self._graphs = graphs
        """Collected by the session; None if each segment collects its own."""
        self._noted: set[str] = set()
        self._noted_loss: Unit | None = None
        """The function whose loss was noted last."""
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
        self.num_replicas = 1
        """Of the segment in force."""
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
        self.step: RecordedStep | None = None
        """The open step."""
        self._called: list[Unit] = []
        """Functions called in the open step."""
        self._calls = StepCalls(1)
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
        self._yielded_at: int | None = None
        """Step at which the program started its own profiler, while it is on."""
        self._graphs_left_at: int | None = None
        """Step at which the program began to collect graphs, while it does."""
        self._without_graph: list[int] = []
        """Segments whose graph went to the program since then."""

    def note(self, message: str, **fields: Any) -> None:
        """Record a note, once."""
        if message not in self._noted:
            self._noted.add(message)
            self.recorder.write(Note("info", message, fields=fields))

    def _warn(self, message: str) -> None:
        """Record a warning, and print it, once."""
        if message not in self._noted:
            self._noted.add(message)
            self.recorder.write(Note("warning", message))
            say(message)

    # -- segments

    def prepare(self, unit: Unit, fetched: Sequence[Fetched]) -> None:
        """A function is being traced, and turned out to train: record its graph."""
        if self.step is not None and not fetched:
            self._segment_of[unit] = self._segment  # a part of the open step
            return
        if self._is_made_again(unit):
            self._segment_of[unit] = self._segment
            return
        self.open_segment(unit, unit.strategy or seen_strategy())

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

    def known_before(self, unit: Unit) -> None:
        """A function that was traced before the recording began trains: its graph is not known."""
        if self._graphs is not None and unit in self._graphs:
            return
        self.note(
            f"{_place(unit)} was traced before the recording began, and TensorFlow gives out a "
            "graph only then: placement and the time of each replica are not known. To have them, "
            "define it again, and record its first call"
        )

    def open_segment(
        self,
        owner: Any,
        strategy: Any,
        batch_size: int | None = None,
        variables: Variables = (),
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
        segment = segment_of(strategy, None, number, self.recorder.next_step)
        self.num_replicas = segment.num_replicas
        # a worker of parameter servers does steps of its own
        self._num_workers = 1 if has_coordinator(segment) else segment.num_workers
        self._num_here = segment.num_replicas // max(1, segment.num_workers)
        self._has_begun = False
        self._num_without_batch = 0
        self._calls = StepCalls(self._num_workers)
        if self._graphs_left_at is None:
            self.recorder.leave_graphs_to(_why_no_graphs(segment))
        size = self._of_all_workers(batch_size)
        segment = msgspec.structs.replace(segment, global_batch_size=size)
        is_warm = self._graphs is not None and owner in self._graphs
        self.recorder.open_segment(
            segment, variables, same_as, self._collected(owner), is_warm=is_warm
        )
        if private_tf.has_dtensor():
            self._warn(_ABOUT_DTENSOR)
        if warning := about_missing_devices(segment):
            self._warn(warning)
        self._alone = {each: self._segment_of[each] for each in owners[1:]}
        self._segment = number
        self._segment_of.update(dict.fromkeys(owners, number))
        self._owner = weakref.ref(owner)
        self._turns.begin(owner)
        self._round = in_turns
        self._last, self._has_late_update = None, None if in_turns is None else False
        if self._graphs_left_at is not None and not same_as:
            self._without_graph.append(number)

    def _of_all_workers(self, examples: int | None) -> int | None:
        """Examples of a step by those of this process, which each worker has as many of."""
        return None if examples is None else examples * self._num_workers

    def _collected(self, owner: Any) -> Callable[[], Any] | None:
        """How to have the graphs of a segment's first step once it is done."""
        graphs = self._graphs
        if graphs is None:
            return None
        return lambda: graphs.of(self._called or [owner])

    def _come_back_to(self, unit: Unit) -> None:
        """Begin a segment like an earlier one, if the one in force is not of this function."""
        segment = self._segment_of.get(unit)
        if segment is None or (segment != self._segment and self._num_switches < MOST_SWITCHES):
            self._num_switches += segment is not None
            in_turns = self._turns.round_before(unit)
            self.open_segment(unit, unit.strategy or seen_strategy(), in_turns=in_turns)
            if in_turns is not None:
                names = " and ".join(_place(each) for each in in_turns.units)
                self.note(f"{names} train in turns: a step is a round of calls of them all")

    # -- steps

    def boundary(self, unit: Unit | None) -> None:
        """A batch is about to be taken (None), or a function to be called: end the step if it is
        whole."""
        if self._round is not None:
            if self._round.is_over(self._calls.units, unit):
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
            step = self.step = self.recorder.begin_step()
            self._called, self._calls.calls = [], []
            self._num_steps, self._is_updated, self.is_assigned = 1, False, False
            is_graph = not unit.run_at
            if (
                is_graph
                and unit.num_calls == 1
                and self._has_begun
                and self._num_made >= FEWEST_MADE
            ):
                self._note_made_again(unit, step)
            if not self._has_begun:
                self._note_no_ops(unit)
                self._note_in_turns(unit)
            self._has_begun = True
            if not fetched or fetched[-1].step is not step:  # else it began with its batch
                self._begin_before(step, call)
        else:
            for each in fetched:
                if each.step is None:
                    self.step.asked(each.took_ns)
        if call.iterations is None and unit.may_loop and unit.num_calls > 1:
            call.iterations = iterations(unit.optimizer)

    def _note_no_ops(self, unit: Unit) -> None:
        """Note what keeps the ops of a segment out of its captures, at its first step."""
        if unit.is_compiled:
            why = f"XLA compiled {_place(unit)} as a whole (`jit_compile=True`)"
            advice = "run it once without `jit_compile`"
        elif not unit.is_eager and tf.config.functions_run_eagerly():
            why = f"{_place(unit)} ran op by op (`tf.config.run_functions_eagerly(True)`)"
            advice = "remove that call"
        else:
            return
        self.note(
            f"{why}: the times of its replicas, and its collectives, are not known. To have them, "
            f"{advice}",
            **{WHY_NO_OPS: why, NO_OPS_IN: self._segment},
        )

    def _note_in_turns(self, unit: Unit) -> None:
        """Note that the replicas of a segment run one after the other, at its first step."""
        if not unit.run_at or self._num_here < 2:
            return
        self.note(
            f"`strategy.run` is called outside of a `tf.function` ({unit.run_at}): the "
            f"{self._num_here} replicas run {_place(unit)} one after the other, as Python does. To "
            "have them run at the same time, call `strategy.run` in a `tf.function`",
            **{IN_TURNS: unit.run_at, NO_OPS_IN: self._segment},
        )

    def note_fetched_each(self, place: str) -> None:
        """Note that a coordinator fetches each step's result before it schedules the next one."""
        self.note(
            f"The program fetches the result of each step ({place}) before it schedules the next "
            "one: one worker works at a time. To have all of them work, schedule many steps, and "
            "call `join` once, or fetch after that",
            **{FETCHED_EACH: place, NO_OPS_IN: self._segment},
        )

    def _note_whole_batch(self, unit: Unit, examples: int) -> None:
        """Note that each replica trains on all of a batch."""
        self.note(
            f"`{unit.name}` ({unit.line}) does not divide its batch: each of the {self._num_here} "
            f"replicas trains on all {examples} examples. To have them divided, call `fit`, or "
            "`strategy.run` with the batches of `strategy.experimental_distribute_dataset`",
            **{WHOLE_BATCH_EACH: unit.line, NO_OPS_IN: self._segment},
        )

    def _note_no_batch(self) -> None:
        """Note that the step has no batch whose examples could be counted."""
        self._num_without_batch += 1
        if self._num_without_batch == 2:  # the first may be a call to build the model
            self.note(
                f"The number of examples in a step of {_place(self._called[0])} is unknown: no "
                "batch is taken from a `tf.data` dataset, outside of functions, before its call. "
                "To have it, iterate over a dataset and call the function with its batches"
            )

    def _note_made_again(self, unit: Unit, step: RecordedStep) -> None:
        if unit is self._newest:
            why = f"{MADE_AGAIN} ({unit.line})"
            self.recorder.write(Retraced(self._segment, step.step, unit.name, 1, why))

    def _begin_before(self, step: RecordedStep, call: Call) -> None:
        """Have a step begin with its call, or with a batch that was taken for it, unless it began
        with one of its batches already."""
        if step.captured or any(each.step is step for each in call.fetched):
            return
        step.began_at(*call.first_began())
        for each in call.fetched:
            step.asked(each.took_ns)

    def call_done(self, call: Call, result: Any) -> None:
        """A call of the open step has returned."""
        assert self.step is not None
        unit, loss = call.unit, None
        if isinstance(result, _TENSOR):
            is_known = unit is self._noted_loss and result.device in plain_devices
            loss = result if is_known else self._loss_of(unit, result)
        if unit not in self._called:  # as `_part_done` does
            self._called.append(unit)
        call.ended_ns = self._ended_ns = time.monotonic_ns()
        call.loss = loss
        self._calls.calls.append(call)
        if unit.may_loop and self._round is None:
            self._count_steps(call)
        if loss is not None:
            # as `result_of_program` does, without a call in each step
            self.step.read, self.step.is_of_program = functools.partial(_result_of, loss), True
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
        called = self._calls.units
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
                    f"{_place(unit)} applies gradients that other calls have computed, but not in "
                    "every step: its time and its collectives are between the steps, not in them. "
                    f"To count them: {_HOW_TO_COUNT}"
                )
            return
        if not unit.optimizers and not unit.is_update:
            return
        self._part_done(unit)
        self._has_late_update = self._is_updated = True
        if len(self._calls) > 1:
            self.note(
                f"{_place(unit)} applies the gradients of several calls of "
                f"{_place(self._called[0])}: a step lasts from the batch of the first of these "
                "calls to the end of the update"
            )
        if unit is self._last:
            self.close_step()

    def eager_part_done(self, call: Call, *, is_update: bool) -> None:
        """A part of the open step has returned; the next batch or tape closes the step."""
        if self.step is None:
            return
        self._part_done(call.unit)
        self._calls.part_done(call, self._ended_ns)
        if is_update:
            self._has_late_update = self._is_updated = True
        elif self._has_late_update is None:
            self._find_update(call.unit)
        if self._round is not None and self._round.is_given_up(self._calls.units):
            self._part_of_round_done(self._round)
        elif self._called[0] is call.unit:
            self.note(
                f"Steps are found by {_place(call.unit)}, which runs eagerly: a step lasts from "
                "its batch, or from the tape's begin if no batch is taken, until the last gradient "
                "or the optimizer's update"
            )
        self._give_up_if_long(call.unit)

    def _part_done(self, unit: Unit) -> None:
        if unit not in self._called:
            self._called.append(unit)
        self._ended_ns = time.monotonic_ns()

    # -- which call updates the variables

    def _find_update(self, unit: Unit) -> None:
        """A call that computes gradients has returned: find out whether it applies them, too.

        If neither its graph nor a hook shows that, a later call may. If it has no variables that
        the hooks know, each call counts as an update.
        """
        unit.is_update = unit.is_update or updates_in_graph(unit)
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
                f"each call of {_place(self._called[0])} is a step. To have one step per update: "
                f"{_HOW_TO_COUNT}"
            )

    def _give_up_if_long(self, unit: Unit) -> None:
        if self._is_updated or self._has_late_update is False or len(self._calls) < MOST_CALLS:
            return
        self._has_late_update = False
        self.note(
            f"{MOST_CALLS} calls of {_place(unit)} were followed by no update of the variables: "
            f"each call is a step. If a later call applies their gradients: {_HOW_TO_COUNT}"
        )
        self.close_step()

    def scheduled_done(self, call: Call, num_steps: int) -> None:
        """The steps that the program gave to a `ClusterCoordinator` are done."""
        self._part_done(call.unit)
        self._num_steps = num_steps
        if num_steps > 1:
            self.note(
                "Workers do the steps between two calls of `ClusterCoordinator.join`, several at a "
                "time; each gets the same part of the time from the first `schedule` to the end of "
                "`join`"
            )
        self.close_step()

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
        calls = self._calls.calls
        if self._has_late_update or self._round is not None:
            step.examples = self._calls.num_examples()
        elif len(calls) > 1 and len(self._called) == 1:
            step.divide(self._calls.as_steps())
            step.result_of_program(self._calls.losses())
        elif calls and (given := calls[0].own_examples) is not None:
            step.examples = given * self._num_here * self._num_workers
            if self._num_here > 1:
                self._note_whole_batch(calls[0].unit, given)
        elif calls and calls[0].fetched:
            examples = calls[0].fetched[0].num_examples
            step.examples = None if examples is None else examples * self._num_workers
        elif calls:
            self._note_no_batch()
        step.ended_ns = self._ended_ns
        self.recorder.leave_step(step, _NOT_RAISED)

    def _is_round(self, in_turns: Round) -> bool:
        """Whether functions that train in turns have each had one."""
        if in_turns.is_begun_by(self._calls.units):
            return True
        self.note(f"The last calls of {_place(self._called[0])} are in no step: no round is whole")
        return False

    def _is_whole(self) -> bool:
        """Whether the open step has all calls up to an update; notes it if some are left over."""
        if not self._is_updated:
            self.note(
                f"The last calls of {_place(self._called[0])} are in no step: no update has "
                "followed them"
            )
            return False
        # A recording that begins while the program runs may begin between two updates.
        is_first = self.recorder.next_step == 0 and self._last is None
        if is_first and self._calls.first.unit.num_calls > len(self._calls):
            self._last = self._called[-1]
            return False
        return True

    def drop(self) -> None:
        """Leave out the open step, which raised, but not those of its calls that may be steps."""
        if self.step is None:  # as before each step of `fit`
            return
        if self._has_late_update is None and self._calls.calls:
            self.close_step()
            return
        step, self.step = self.step, None
        step.__exit__(RuntimeError, None, None)

    # -- the program's own profiler

    def yield_profiler(self) -> None:
        """Capture nothing while the program's own profiler is on."""
        self.recorder.hold_windows()
        self._yielded_at = self.recorder.next_step

    def take_profiler_back(self) -> None:
        """Capture again, and note which steps were not captured."""
        first, self._yielded_at = self._yielded_at, None
        last = self.recorder.next_step - 1
        if first is None:
            return
        self.recorder.release_windows()
        if last >= first:
            said = _steps(first, last)
            said = f"{said} had the program's own profiler on, and were not captured"
            self.note(said, **{OWN_PROFILER: [first, last]})

    def yield_graphs(self) -> None:
        """Collect no graphs while the program's own `tf.summary.trace_on` is on."""
        if self._graphs_left_at is not None:
            return
        self._graphs_left_at = self.recorder.next_step
        self._without_graph = []
        if self.recorder.leave_graphs_to(_GRAPHS_LEFT):
            self._without_graph.append(self._segment)

    def take_graphs_back(self) -> None:
        """Collect graphs again, and note which steps and segments go without."""
        first, self._graphs_left_at = self._graphs_left_at, None
        if first is None:
            return
        self.recorder.leave_graphs_to(None)
        last = self.recorder.next_step - 1
        said = "".join(
            f". The graph of segment {number} went to it, and is not recorded"
            for number in self._without_graph
        )
        if last >= first:
            self.note(f"{_steps(first, last)} had the program's own `tf.summary.trace_on` on{said}")

    # -- the program's own recorder

    def leave_to_program(self, path: str) -> None:
        """End the open step and window: from here on the program records itself."""
        self.close_step()
        self.recorder.leave_ahead()
        self.recorder.hold_windows()
        self.recorder.leave_graphs_to(_GRAPHS_LEFT)
        self.note(
            f"From step {self.recorder.next_step} on the program records itself with the lab, in "
            f"{path}: its steps are in that run, not in this one"
        )

    # -- steps of Keras's fit

    def begin_fit_step(self, model: Any, batch_size: int | None) -> None:
        if self.step is not None:
            self.drop()
        owner = model.train_function
        if self._owner() is not owner and self._segment_of.get(owner) != self._segment:
            strategy = getattr(model, "distribute_strategy", None) or seen_strategy()
            self.open_segment(owner, strategy, batch_size, _variables_of(weakref.ref(model)))
        self.step = self.recorder.begin_step()
        self._called, self._calls.calls = [], []
        self._num_steps, self._is_updated = 1, False

    def end_fit_step(
        self,
        num_steps: int,
        examples: int | Callable[[], int | None] | None,
        loss: Any,
        ended_ns: int,
    ) -> RecordedStep | None:
        """Return the step that ended, if one was open."""
        step, self.step = self.step, None
        if step is None:
            return None
        if num_steps > 1:
            self.note(
                f"Keras does {num_steps} steps in one execution (`steps_per_execution`); each "
                "gets the same part of its time"
            )
        step.num_steps = num_steps
        if isinstance(loss, _TENSOR) and not is_plain(loss):
            loss = None
        if isinstance(examples, int):
            step.examples = examples * self._num_workers
        if callable(examples):
            counted = functools.partial(_count_of_fit, step, examples, self._num_workers)
            step.result_of_program(functools.partial(counted, loss))
        elif loss is not None:
            step.result_of_program(functools.partial(_result_of, loss))
        step.ended_ns = ended_ns
        self.recorder.leave_step(step, _NOT_RAISED)
        return step

    def begin_ahead(self) -> RecordedStep:
        return self.recorder.begin_ahead()

    def leave_ahead(self) -> None:
        self.recorder.leave_ahead()

    def _count_steps(self, call: Call) -> None:
        unit = call.unit
        now = iterations(unit.optimizer) if unit.optimizer is not None else None
        if now is None or call.iterations is None:
            self.note(
                f"{_place(unit)} may do several steps in one call, and no Keras optimizer counts "
                "them: each call is one step here. To count them, call it once per step, or record "
                "the program with `with strategy_core.record(RUN) as recorder:` and "
                "`with recorder.step():`"
            )
            return
        num_steps = now - call.iterations
        if num_steps > 1:
            self._num_steps = num_steps
            self.note(
                f"A call of {_place(unit)} does several steps on the device. Their number is what "
                "the optimizer has counted; each gets the same part of the call's time"
            )

    def _loss_of(self, unit: Unit, result: tf.Tensor) -> tf.Tensor | None:
        """The tensor that a call has returned, if that is one floating-point number."""
        if not is_plain(result):
            self.note(f"What {_place(unit)} returns is not read: {why_not_read(result)}")
            return None
        if unit.returns_loss is None:  # asked once: a tensor's shape takes long in a step
            unit.returns_loss = result.dtype.is_floating and result.shape.rank == 0
        if unit.returns_loss and unit is not self._noted_loss:
            self._noted_loss = unit
            self.note(f"The loss is the number that {_place(unit)} returns")
        return result if unit.returns_loss else None


def _variables_of(model: weakref.ref[Any]) -> Callable[[], list[Any]]:
    """The variables of a model, and of its optimizer. Keeps neither alive."""

    def variables() -> list[Any]:
        held = model()
        optimizer = getattr(held, "optimizer", None)
        return [*getattr(held, "variables", ()), *getattr(optimizer, "variables", ())]

    return variables


def _result_of(loss: tf.Tensor) -> StepResult:
    return number_in(loss), None


def _count_of_fit(
    step: RecordedStep, count: Callable[[], int | None], num_workers: int, loss: Any
) -> StepResult:
    """Read the examples of a step of `fit` as well, which Keras has counted."""
    examples = count()
    step.examples = None if examples is None else examples * num_workers
    return (math.nan if loss is None else number_in(loss)), None


def _why_no_graphs(segment: SegmentOpened) -> str | None:
    """Why the graph of a segment is not collected; None if it is."""
    if has_coordinator(segment):
        return "The workers have the graph of a step that a coordinator gives them"
    return private_tf.why_no_graphs()


def _steps(first: int, last: int) -> str:
    return f"Steps {first} to {last}" if last > first else f"Step {first}"


def _place(unit: Unit) -> str:
    return f"`{unit.name}` ({unit.line})" if unit.line else f"`{unit.name}`"
