"""A configuration, built: everything that a segment of a run needs, from its spec."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf

from profiles.events import SegmentOpened
from profiles.spec import RunSpec, check_batch
from strategy_core import (
    algorithms,
    data,
    devices,
    state,
    strategies,
    tpu_strategy,
    workload,
)
from strategy_core.cluster.agreement import Agreement
from strategy_core.device_plan import DevicePlan, plan
from strategy_core.fit import FitLoop
from strategy_core.fit_marks import FitMarks
from strategy_core.input_pipeline import distributed, global_batches
from strategy_core.loops import CustomLoop, Loop
from strategy_core.model import build_model
from strategy_core.parameter_server.coordinate import coordinator_loop
from strategy_core.parameter_server.loop import CoordinatorLoop
from strategy_core.parameter_server.parts import Held, PartedModel, check_parts
from strategy_core.step import Step, build_step

STEP_FIELDS = frozenset(
    ("capture", "global_batch_size", "hang_timeout_s", "inject", "reconfigure", "steps")
)
"""Fields of a spec that neither its strategy nor its model depends on."""


@dataclass
class Segment:
    """What a configuration runs with. `notes` are what its user should know."""

    spec: RunSpec
    plan: DevicePlan
    algorithm: algorithms.Algorithm
    work: workload.Workload
    strategy: tf.distribute.Strategy
    model: Any
    optimizer: Any
    loop: Loop
    notes: list[str] = field(default_factory=list)
    parted: PartedModel | None = None
    """Parts of the weights on parameter servers, where they are cut."""

    @property
    def custom(self) -> CustomLoop:
        """The loop, where it is the custom one: its batches and its step one by one."""
        assert isinstance(self.loop, CustomLoop)
        return self.loop

    def take_state(self) -> state.State:
        """The training state, copied."""
        if self.parted is not None:
            self.parted.gather()
        return state.take(self.strategy, state.variables(self.model, self.optimizer))

    def put_state(self, held: state.State) -> None:
        """Set the training state."""
        state.put(state.variables(self.model, self.optimizer), held)
        if self.parted is not None:
            self.parted.hand_out()

    def placed_variables(self) -> list[Any]:
        """The variables that are trained, where they sit."""
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
        """The event that puts the segment on record, in force from now on."""
        weights = self.model.trainable_variables
        cores = tpu_strategy.core_devices(self.strategy)
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
        )


def build(
    spec: RunSpec,
    *,
    carried: state.State | None = None,
    first_example: int = 0,
    agreement: Agreement | None = None,
) -> Segment:
    """Everything `spec` asks for, its state carried over and its data from an example on.

    `agreement` is how this process and its peers come to the same commands, where it has peers.

    Raises LabError; nothing of another segment is touched.
    """
    planned = plan(spec, devices.inventory())
    check_batch(spec.global_batch_size, planned.num_in_step)
    algorithm = algorithms.decide(spec, planned)
    # The strategy first: a cluster is joined before anything else, such as a user's file, runs ops.
    strategy = strategies.build(spec, planned.names, algorithm)
    work = workload.load(spec.workload, spec.workload_options)
    is_cut = spec.parameter_server.partitioner != "none"
    if is_cut:
        check_parts(work)
    # A model whose weights are cut stays whole here, as a pattern for what is served.
    holder = tf.distribute.get_strategy() if is_cut else strategy
    if spec.data is None:
        dataset = global_batches(spec, work, first_example)
        model, optimizer = build_model(spec, work, holder, dataset)
    else:
        model, optimizer = build_model(spec, work, holder)
        dataset = _own_data(spec, first_example, model)
    if carried is not None:
        state.put(state.variables(model, optimizer), carried)
    notes = [algorithm.note] if algorithm.note else []
    loop: Loop
    parted = None
    if spec.strategy == "parameter-server":
        if is_cut:
            parted = PartedModel(spec, work, strategy, model, optimizer)
        held = parted.held if parted else Held.whole(model, optimizer)
        loop, told = coordinator_loop(spec, strategy, model, held, work, dataset)
        notes += told
    else:
        loop = _loop(spec, planned, work, strategy, model, optimizer, dataset, agreement)
    return Segment(spec, planned, algorithm, work, strategy, model, optimizer, loop, notes, parted)


def can_adapt(before: Segment, spec: RunSpec) -> bool:
    """Whether `adapt` can make a segment for `spec` of the one before."""
    fixed = (name for name in RunSpec.model_fields if name not in STEP_FIELDS)
    is_own = isinstance(before.loop, CustomLoop | CoordinatorLoop) and spec.strategy != "tpu"
    return is_own and all(getattr(spec, name) == getattr(before.spec, name) for name in fixed)


def adapt(before: Segment, spec: RunSpec, first_example: int | None) -> Segment:
    """The segment for `spec` on the strategy, model and variables of the one before.

    Its data begin at an example, or (None) go on where those of the one before are. Its step is
    new, so that the one before stays whole but for the values of its variables, its optimizer's
    all-reduce and data that they share. Raises LabError.
    """
    check_batch(spec.global_batch_size, before.plan.num_in_step)
    dataset = None
    if first_example is not None:
        if spec.data is None:
            dataset = global_batches(spec, before.work, first_example)
        else:
            dataset = _own_data(spec, first_example, before.model)
    return replace(before, spec=spec, loop=_adapted_loop(before, spec, dataset), notes=[])


def _adapted_loop(before: Segment, spec: RunSpec, dataset: tf.data.Dataset | None) -> Loop:
    """A loop for `spec` over a data set, or (None) over what the one before has not read yet."""
    strategy, model, optimizer = before.strategy, before.model, before.optimizer
    if isinstance(before.loop, CoordinatorLoop):
        held = before.parted.held if before.parted else Held.whole(model, optimizer)
        feed = before.loop.feed if dataset is None else dataset
        loop, _ = coordinator_loop(spec, strategy, model, held, before.work, feed)
        return loop
    batches = before.custom.batches if dataset is None else distributed(strategy, dataset)
    step = _step(spec, before.plan, before.work, strategy, model, optimizer)
    return CustomLoop(batches, step, before.custom.agreement)


def _own_data(spec: RunSpec, first_example: int, model: Any) -> tf.data.Dataset:
    assert spec.data is not None
    return data.read(spec.data).batches(spec.global_batch_size, spec.seed, first_example, model)


def _loop(
    spec: RunSpec,
    planned: DevicePlan,
    work: workload.Workload,
    strategy: tf.distribute.Strategy,
    model: Any,
    optimizer: Any,
    dataset: tf.data.Dataset,
    agreement: Agreement | None,
) -> Loop:
    """What drives the steps: the custom loop, or Keras fit."""
    delays_ms = _delays_ms(spec, planned)
    if spec.loop == "fit":
        return FitLoop(
            strategy,
            model,
            optimizer,
            work,
            dataset,
            global_batch_size=spec.global_batch_size,
            marks=FitMarks(strategy, model, optimizer, delays_ms, wanted=spec.capture.marks),
            agreement=agreement,
        )
    batches = distributed(strategy, dataset)
    step = _step(spec, planned, work, strategy, model, optimizer)
    return CustomLoop(batches, step, agreement)


def _step(
    spec: RunSpec,
    planned: DevicePlan,
    work: workload.Workload,
    strategy: tf.distribute.Strategy,
    model: Any,
    optimizer: Any,
) -> Step:
    return build_step(
        strategy,
        model,
        optimizer,
        work,
        delays_ms=_delays_ms(spec, planned),
        with_marks=spec.capture.marks,
        split=tpu_strategy.splitter(strategy, spec),
    )


def _delays_ms(spec: RunSpec, planned: DevicePlan) -> dict[int, float]:
    """The delays asked for, by the number of the replica in the whole run."""
    return {
        delay.worker * planned.replicas_per_worker + delay.replica: delay.ms
        for delay in spec.inject
    }
