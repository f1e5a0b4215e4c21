"""Builds everything that a segment of a run needs from its spec."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf

from strategy_core import data, strategies
from strategy_core.cluster.command_agreement import CommandAgreement
from strategy_core.data.examples import Examples
from strategy_core.planning import collective_algorithms, strategy_catalog
from strategy_core.planning.device_plan import DevicePlan
from strategy_core.planning.reconfiguration import why_rebuilt
from strategy_core.planning.spec_rules import check_batch
from strategy_core.runtime import logical_devices as devices
from strategy_core.training import shape_check, state, tpu_cores, workload
from strategy_core.training.custom_loop import CustomLoop, Loop
from strategy_core.training.injected_delay import Delays
from strategy_core.training.input_pipeline import distributed, global_batches
from strategy_core.training.keras_fit import FitLoop
from strategy_core.training.keras_fit_timestamps import FitMarks
from strategy_core.training.model import build_model
from strategy_core.training.own_loop import OwnLoop, Parted
from strategy_core.training.step_cache import StepCache, TracedStep, kind_of
from strategy_core.training.train_step import build_step
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.spec.run_spec import RunSpec


@dataclass
class Segment:
    """The objects of one configuration. `notes` are messages for the user."""

    spec: RunSpec
    plan: DevicePlan
    algorithm: collective_algorithms.Algorithm
    work: workload.Workload
    strategy: tf.distribute.Strategy
    model: Any
    optimizer: Any
    loop: Loop = field(init=False)  # made from the rest, so set when the rest is
    notes: list[str] = field(default_factory=list)
    parted: Parted | None = None
    """What is trained in place of the model's own variables, if anything is."""
    steps: StepCache = field(default_factory=StepCache)
    """The custom loop's steps that were traced on these variables."""
    traced: TracedStep | None = None
    """The step of `steps` that the loop calls."""
    drew_seeds: bool = True
    """Whether building the model drew from TensorFlow's global seed."""

    @property
    def custom(self) -> CustomLoop:
        """The loop as a CustomLoop, with its batches and its step."""
        assert isinstance(self.loop, CustomLoop)
        return self.loop

    def take_effect(self) -> None:
        """Apply the settings that steps and strategy share with other segments.

        Call it before a step.
        """
        if self.traced is not None:
            self.traced.delays.set(_delays_ms(self.spec, self.plan))
        strategies.reduce_by(self.strategy, self.spec, self.algorithm)

    @property
    def recorded_as(self) -> int | None:
        """The segment that recorded this same graph, or None."""
        if self.traced is None:
            return None
        return self.traced.recorded.get(self.spec.global_batch_size)

    def has_recorded(self, number: int) -> None:
        """Note that segment `number` has recorded the graph."""
        if self.traced is not None:
            self.traced.recorded.setdefault(self.spec.global_batch_size, number)

    def forget_step(self) -> None:
        """Forget the traced step after a failure, so that it is traced again."""
        if self.traced is not None:
            self.steps.forget(self.traced)

    def take_state(self) -> state.State:
        """A copy of the training state."""
        if self.parted is not None:
            self.parted.gather()
        return state.take(self.strategy, state.variables(self.model, self.optimizer))

    def put_state(self, held: state.State) -> None:
        """Set the training state."""
        state.put(state.variables(self.model, self.optimizer), held)
        if self.parted is not None:
            self.parted.hand_out()

    def placed_variables(self) -> list[Any]:
        """The trained variables on the devices where they are placed."""
        if self.parted is not None:
            return self.parted.variables
        return state.variables(self.model, self.optimizer)

    def opened(
        self,
        number: int,
        first_step: int,
        *,
        checksum_before: str | None = None,
        moved: str | None = None,
    ) -> SegmentOpened:
        """The event that records the opening of the segment."""
        weights = self.model.trainable_variables
        row = strategy_catalog.row(self.spec.strategy)
        cores = tpu_cores.core_devices(self.strategy) if row.has_cores else None
        checksum_after = state.checksum(self.take_state()) if checksum_before else None
        return SegmentOpened(
            segment=number,
            strategy=self.spec.strategy,
            num_replicas=self.plan.num_replicas,
            num_workers=self.spec.workers,
            global_batch_size=self.spec.global_batch_size,
            first_step=first_step,
            started_ns=time.time_ns(),
            replica_devices=[devices[0] for devices in cores] if cores else self.plan.names,
            core_devices=cores,
            cross_device_ops=self.algorithm.name,
            spec=self.spec.to_json(),
            parameter_bytes=sum(w.value.dtype.size * w.value.shape.num_elements() for w in weights),
            state_checksum_before=checksum_before,
            state_checksum_after=checksum_after,
            moved=moved,
            has_central_copy=row.has_central_copy,
        )


def build(
    spec: RunSpec,
    *,
    carried: state.State | None = None,
    first_example: int = 0,
    agreement: CommandAgreement | None = None,
    joined: Callable[[tf.distribute.Strategy], None] = lambda _strategy: None,
    before: Segment | None = None,
) -> Segment:
    """Build everything for `spec`, with its state carried over and its data from `first_example`.

    `agreement` makes this process and its peers obey commands at the same step. `joined` is called
    with the strategy once all processes of the cluster have joined. `before` is the previous
    segment of this process, with the same seed.

    Raises LabError. Does not change any other segment.
    """
    planned = devices.planned(spec)
    check_batch(spec.global_batch_size, planned.num_in_step)
    algorithm = collective_algorithms.decide(spec, planned)
    # Build the strategy first: a cluster must be joined before anything else runs ops, such as a
    # user's file.
    strategy = strategies.build(spec, planned.names, algorithm)
    joined(strategy)
    work = workload.load(spec.workload, spec.workload_options)
    own: OwnLoop | None = strategies.own_loop(spec)
    is_cut = own is not None and own.holds_parts(spec, work)
    # A model whose weights are trained in parts stays whole here, as a pattern for them.
    holder = tf.distribute.get_strategy() if is_cut else strategy
    is_seeded = before is not None and not before.drew_seeds
    notes = [algorithm.note] if algorithm.note else []
    if spec.data is None:
        dataset, first = global_batches(spec, work, first_example)
        built = build_model(spec, work, holder, dataset, is_seeded=is_seeded)
    else:
        built = build_model(spec, work, holder, is_seeded=is_seeded)
        examples, first = data.read(spec.data), None
        dataset = _own_batches(spec, examples, first_example, built.model)
        notes += [examples.note] if examples.note else []
    model, optimizer = built.model, built.optimizer
    if spec.data is not None or not work.is_built_in:
        shape_check.check(work, model, dataset.element_spec, first, loop=spec.loop)
    if carried is not None:
        state.put(state.variables(model, optimizer), carried)
    parted = None if own is None else own.parted(spec, work, strategy, model, optimizer)
    segment = Segment(spec, planned, algorithm, work, strategy, model, optimizer, notes, parted)
    segment.drew_seeds = built.drew_seeds
    segment.loop, loop_notes = _loop(segment, dataset, agreement)
    notes += loop_notes
    return segment


def adapt(before: Segment, spec: RunSpec, first_example: int | None) -> Segment:
    """The segment for `spec` with the strategy, model and variables of the previous one.

    Its data start at `first_example` or, if None, continue at the position of the previous segment.
    Its step is one that was traced on these variables before, or a new one. The previous segment
    stays usable, except for the values of its variables, the settings of `take_effect`, and shared
    data. Raises LabError.
    """
    check_batch(spec.global_batch_size, before.plan.num_in_step)
    algorithm = collective_algorithms.decide(spec, before.plan)
    source: tf.data.Dataset | Loop = before.loop
    if first_example is not None:
        if spec.data is None:
            source, _ = global_batches(spec, before.work, first_example)
        else:
            source = _own_batches(spec, data.read(spec.data), first_example, before.model)
    is_known = algorithm == before.algorithm or not algorithm.note
    notes = [] if is_known else [str(algorithm.note)]
    adapted = replace(before, spec=spec, algorithm=algorithm, notes=notes)
    if spec.capture.contexts:  # contexts are recorded while a step is traced
        adapted.steps = StepCache()
    agreement = before.loop.agreement if isinstance(before.loop, CustomLoop) else None
    adapted.loop, _ = _loop(adapted, source, agreement)
    return adapted


def _loop(
    segment: Segment, source: tf.data.Dataset | Loop, agreement: CommandAgreement | None
) -> tuple[Loop, list[str]]:
    """The loop of a segment, with notes for the user.

    It reads a data set, or what the loop before it has not read yet.
    """
    spec, work, strategy = segment.spec, segment.work, segment.strategy
    model, optimizer = segment.model, segment.optimizer
    row = strategy_catalog.row(spec.strategy)
    own: OwnLoop | None = strategies.own_loop(spec)
    if own is not None:
        return own.loop(spec, work, strategy, model, optimizer, segment.parted, source)
    if isinstance(source, CustomLoop):
        batches = source.batches
    elif spec.loop == "fit":
        marks = FitMarks(
            strategy,
            model,
            optimizer,
            _delays(spec, segment.plan),
            wanted=spec.capture.marks and not spec.xla,
            has_central_copy=row.has_central_copy,
        )
        loop = FitLoop(
            strategy, model, optimizer, work, source, spec=spec, marks=marks, agreement=agreement
        )
        return loop, []
    else:
        batches = distributed(strategy, source, has_cores=row.has_cores)
    segment.traced = _step(segment)
    return CustomLoop(batches, segment.traced.step, agreement), []


def _own_batches(
    spec: RunSpec, examples: Examples, first_example: int, model: Any
) -> tf.data.Dataset:
    return examples.batches(spec.global_batch_size, spec.seed, first_example, model)


def _step(segment: Segment) -> TracedStep:
    """The custom loop's step: one that was traced on these variables before, or a new one."""
    spec = segment.spec

    def build() -> TracedStep:
        delays = _delays(spec, segment.plan)
        step = build_step(
            segment.strategy,
            segment.model,
            segment.optimizer,
            segment.work,
            delays=delays,
            with_marks=spec.capture.marks,
            with_xla=spec.xla,
            split=tpu_cores.splitter(segment.strategy, spec),
        )
        return TracedStep(step, delays)

    kind = kind_of(spec, segment.algorithm, _delays_ms(spec, segment.plan))
    return segment.steps.get(kind, build)


def _delays(spec: RunSpec, planned: DevicePlan) -> Delays:
    return Delays(_delays_ms(spec, planned), planned.indices if planned.kind == "CPU" else (0,))


def _delays_ms(spec: RunSpec, planned: DevicePlan) -> dict[int, float]:
    """Milliseconds by number of the replica in the whole run, for those with a place for a delay.

    With `live_delays` that is every replica, unless a change builds the step again in any case.
    """
    has_places = spec.live_delays and why_rebuilt(spec, spec) is None
    places = range(planned.num_in_step if has_places else 0)
    return dict.fromkeys(places, 0.0) | {
        delay.worker * planned.replicas_per_worker + delay.replica: delay.ms
        for delay in spec.inject
    }
