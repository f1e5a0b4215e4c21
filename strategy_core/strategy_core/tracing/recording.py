"""The steps of a traced program, as they go into its run folder."""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
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
from strategy_core.tracing.calls import Call
from strategy_core.tracing.detector import FEWEST_MADE, Detector, Opening, place_of
from strategy_core.tracing.divided import as_steps, read_losses
from strategy_core.tracing.first_graphs import FirstGraphs
from strategy_core.tracing.own_batch import own_batch
from strategy_core.tracing.own_lines import say
from strategy_core.tracing.settings import Settings
from strategy_core.tracing.several_steps import iterations
from strategy_core.tracing.units import Unit
from strategy_core.tracing.values import is_plain, number_in, plain_devices, why_not_read
from strategy_core.tracing.whole_reads import whole_reads
from strategy_profiles.reporting import units
from strategy_profiles.run.events import (
    COMPILED_AGAIN,
    FETCHED_EACH,
    IN_TURNS,
    MADE_AGAIN,
    NO_OPS_IN,
    OWN_BATCH_EACH,
    OWN_PROFILER,
    UNLIKE_EACH,
    WHOLE_BATCH_EACH,
    WHOLE_READS,
    WHY_NO_OPS,
    Note,
    Retraced,
    SegmentOpened,
)
from strategy_profiles.run.topology import has_coordinator
from strategy_profiles.spec.run_spec import Capture

_TENSOR = tf.Tensor
_NOT_RAISED = (None, None, None)
"""What `__exit__` gets of a block that ended without an exception."""

_ABOUT_DTENSOR = (
    "The program computes on a mesh of `tf.experimental.dtensor`. Its steps are recorded. The "
    "devices of the mesh, its layouts and its all-reduces are not: what is said of one replica is "
    "true of the whole mesh"
)
_GRAPHS_LEFT = "The program's own `tf.summary.trace_on` collected the graph"


class Recording(Detector):
    """Writes what the detector decides of one thread, and tells it what TensorFlow knows."""

    def __init__(
        self,
        settings: Settings,
        graphs: FirstGraphs | None = None,
        stacks: StackSampler | None = None,
    ) -> None:
        super().__init__()
        capture = Capture.model_validate(settings.capture)
        self.recorder: Recorder = join_run(Path(settings.run), capture, stacks)
        self.begin_step, self.leave_step = self.recorder.begin_step, self.recorder.leave_step
        self._graphs = graphs
        """Collected by the session; None if each segment collects its own."""
        self._noted: set[str] = set()
        self._noted_loss: Unit | None = None
        """The function whose loss was noted last."""
        self.num_replicas = 1
        """Of the segment in force."""
        self._fitted: tuple[Any, ...] = ()
        """What the model of the last new train function of `fit` was like."""
        self._num_alike = 0
        """Train functions one after the other of models that are alike."""
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

    def known_before(self, unit: Unit) -> None:
        """A function that was traced before the recording began trains: its graph is not known."""
        if self._graphs is not None and unit in self._graphs:
            return
        self.note(
            f"{place_of(unit)} was traced before the recording began, and TensorFlow gives out a "
            "graph only then: placement and the time of each replica are not known. To have them, "
            "define it again, and record its first call"
        )

    def begin_segment(self, opening: Opening) -> tuple[int, int]:
        owner, same_as = opening.owner, opening.same_as
        segment = segment_of(opening.strategy, None, opening.number, self.next_step)
        self.num_replicas = segment.num_replicas
        # a worker of parameter servers does steps of its own
        num_workers = 1 if has_coordinator(segment) else segment.num_workers
        if self._graphs_left_at is None:
            self.recorder.leave_graphs_to(_why_no_graphs(segment))
        size = None if opening.batch_size is None else opening.batch_size * num_workers
        segment = msgspec.structs.replace(segment, global_batch_size=size)
        is_warm = self._graphs is not None and owner in self._graphs
        self.recorder.open_segment(
            segment, opening.variables, same_as, self._collected(owner), is_warm=is_warm
        )
        if private_tf.has_dtensor():
            self._warn(_ABOUT_DTENSOR)
        if warning := about_missing_devices(segment):
            self._warn(warning)
        if self._graphs_left_at is not None and not same_as:
            self._without_graph.append(opening.number)
        return num_workers, segment.num_replicas // max(1, segment.num_workers)

    def _collected(self, owner: Any) -> Callable[[], Any] | None:
        """How to have the graphs of a segment's first step once it is done."""
        graphs = self._graphs
        if graphs is None:
            return None
        return lambda: graphs.of(self._called or [owner])

    # -- steps

    @property
    def next_step(self) -> int:
        return self.recorder.next_step

    def live_strategy(self) -> Any:
        return seen_strategy()

    def num_updates(self, unit: Unit) -> int | None:
        return iterations(unit.optimizer)

    def updates_in_graph(self, unit: Unit) -> bool:
        return updates_in_graph(unit)

    def divide(self, step: RecordedStep, calls: Sequence[Call]) -> None:
        step.divide(as_steps(calls, self._num_workers))
        step.result_of_program(functools.partial(read_losses, calls))

    def segment_begins(self, unit: Unit) -> None:
        self._note_no_ops(unit)
        self._note_in_turns(unit)

    def _note_no_ops(self, unit: Unit) -> None:
        """Note what keeps the ops of a segment out of its captures, at its first step."""
        if unit.is_compiled:
            why = f"XLA compiled {place_of(unit)} as a whole (`jit_compile=True`)"
            advice = "run it once without `jit_compile`"
        elif not unit.is_eager and tf.config.functions_run_eagerly():
            why = f"{place_of(unit)} ran op by op (`tf.config.run_functions_eagerly(True)`)"
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
            f"{self._num_here} replicas run {place_of(unit)} one after the other, as Python does. "
            "To have them run at the same time, call `strategy.run` in a `tf.function`",
            **{IN_TURNS: unit.run_at, NO_OPS_IN: self._segment},
        )

    def traced_for_workers(self, unit: Unit) -> None:
        graph = unit.live_graph
        reads = [] if graph is None else whole_reads(graph)
        if reads:
            self.note(
                f"Each step of {place_of(unit)} reads {units.counted(len(reads), 'variable')} "
                f"as a whole from the parameter servers; the largest is {reads[0].name}",
                **{WHOLE_READS: msgspec.to_builtins(reads), NO_OPS_IN: self._segment},
            )

    def fetched_each(self, place: str) -> None:
        self.note(
            f"The program fetches the result of each step ({place}) before it schedules the next "
            "one: one worker works at a time. To have all of them work, schedule many steps, and "
            "call `join` once, or fetch after that",
            **{FETCHED_EACH: place, NO_OPS_IN: self._segment},
        )

    def batch_not_divided(self, unit: Unit, examples: int) -> None:
        self.note(
            f"`{unit.name}` ({unit.line}) does not divide its batch: each of the {self._num_here} "
            f"replicas trains on all {examples} examples. To have them divided, call `fit`, or "
            "`strategy.run` with the batches of `strategy.experimental_distribute_dataset`",
            **{WHOLE_BATCH_EACH: unit.line, NO_OPS_IN: self._segment},
        )

    def _note_own_batch(self, unit: Unit) -> None:
        graph = unit.live_graph
        size_and_line = None if graph is None else own_batch(graph)
        if size_and_line is None:
            return
        examples, line = size_and_line
        self.note(
            f"`{unit.name}` ({unit.line}) divides a replica's losses by {examples}, the number of "
            f"its own examples, as if they were the global batch: each of the {self._num_here} "
            "replicas trains on as many. To divide a batch among them, make batches of "
            "`get_per_replica_batch_size` in the function that makes the dataset",
            **{OWN_BATCH_EACH: line or unit.line, NO_OPS_IN: self._segment},
        )

    def made_again(self, unit: Unit, step: RecordedStep) -> None:
        why = f"{MADE_AGAIN} ({unit.line})"
        self.recorder.write(Retraced(self._segment, step.step, unit.name, 1, why))

    def call_done(self, call: Call, result: Any) -> None:
        """A call of the open step that computes gradients has returned: read what it gave."""
        assert self.step is not None
        unit, loss = call.unit, None
        if unit.num_calls == 1 and self._num_here > 1:
            self._note_own_batch(unit)
            if unit.unlike:
                self.note(
                    f"In the first call of `{unit.name}` ({unit.line}) the replicas got tensors of "
                    f"other shapes: {unit.unlike}",
                    **{UNLIKE_EACH: unit.unlike, NO_OPS_IN: self._segment},
                )
        if isinstance(result, _TENSOR):
            is_known = unit is self._noted_loss and result.device in plain_devices
            loss = result if is_known else self._loss_of(unit, result)
        call.loss = loss
        if unit.may_loop and self._round is None:
            self._count_steps(call)
        if loss is not None:
            # as `result_of_program` does, without a call in each step
            self.step.read, self.step.is_of_program = functools.partial(_result_of, loss), True
        self.returned(call)

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
        owner, is_again = model.train_function, False
        if self._owner() is not owner and self._segment_of.get(owner) != self._segment:
            strategy = getattr(model, "distribute_strategy", None) or seen_strategy()
            if is_again := self._is_made_by_fit_again(model, strategy, batch_size):
                self._segment_of[owner], self._owner = self._segment, weakref.ref(owner)
            else:
                self.open_segment(owner, strategy, batch_size, _variables_of(weakref.ref(model)))
        self.step = self.recorder.begin_step()
        if is_again:
            name, step = "The train function of fit", self.step.step
            self.recorder.write(Retraced(self._segment, step, name, 1, COMPILED_AGAIN))
        self._called, self._calls = [], []
        self._num_steps, self._is_updated = 1, False

    def _is_made_by_fit_again(self, model: Any, strategy: Any, batch_size: int | None) -> bool:
        """Whether a new train function is like those before it, as if `fit` is in a loop together
        with `compile` or with the building of the model.

        Each would have a segment of its own, and what they cost together would be in none.
        """
        shapes = [(tuple(each.shape), each.trainable) for each in model.variables]
        before, self._fitted = self._fitted, (type(model), id(strategy), batch_size, shapes)
        self._num_alike = self._num_alike + 1 if before == self._fitted else 1
        return self._num_alike >= FEWEST_MADE

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
                f"{place_of(unit)} may do several steps in one call, and no Keras optimizer counts "
                "them: each call is one step here. To count them, call it once per step, or record "
                "the program with `with strategy_core.record(RUN) as recorder:` and "
                "`with recorder.step():`"
            )
            return
        num_steps = now - call.iterations
        if num_steps > 1:
            self._num_steps = num_steps
            self.note(
                f"A call of {place_of(unit)} does several steps on the device. Their number is "
                "what the optimizer has counted; each gets the same part of the call's time"
            )

    def _loss_of(self, unit: Unit, result: tf.Tensor) -> tf.Tensor | None:
        """The tensor that a call has returned, if that is one floating-point number."""
        if not is_plain(result):
            self.note(f"What {place_of(unit)} returns is not read: {why_not_read(result)}")
            return None
        if unit.returns_loss is None:  # asked once: a tensor's shape takes long in a step
            unit.returns_loss = result.dtype.is_floating and result.shape.rank == 0
        if unit.returns_loss and unit is not self._noted_loss:
            self._noted_loss = unit
            self.note(f"The loss is the number that {place_of(unit)} returns")
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
