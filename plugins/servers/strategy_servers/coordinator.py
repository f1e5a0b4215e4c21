"""The coordinator's part: builds the loop over closures from a strategy, a model and a data set."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from strategy_core.training.workload import Workload
from strategy_profiles.run.events import VariablesServed
from strategy_profiles.spec.run_spec import RunSpec
from strategy_servers.closure import build_step
from strategy_servers.closure_loop import CoordinatorLoop
from strategy_servers.push_accounting import Pushes
from strategy_servers.sharded_weights import PartedModel, StepVariables, check_parts
from strategy_servers.variable_placement import served
from strategy_servers.worker_input import WorkerInput

NEVER = 2**31
"""A step after the last one that a run can have."""
COUNT_NOTE = (
    "The optimizer's step counter may be too low: Keras 3 reads it from the server and writes "
    "it back, which loses steps of workers that push at the same time."
)
FEED_NOTE = (
    "The data set runs Python code, so the coordinator reads every batch and sends it with "
    "its closure. With tf.data ops only, each worker would read its own batches."
)
SPLIT_NOTE = (
    "Each of {num_workers} workers reads its own part of the batches, and starts it from the "
    "beginning after a restart."
)


class ServedLoop:
    """See `strategy_core.training.own_loop.OwnLoop`."""

    def holds_parts(self, spec: RunSpec, work: Workload) -> bool:
        """Whether the weights are split over the servers."""
        is_split = spec.parameter_server.partitioner != "none"
        if is_split:
            check_parts(work)
        return is_split

    def parted(
        self, spec: RunSpec, work: Workload, strategy: Any, model: Any, optimizer: Any
    ) -> PartedModel | None:
        """Shards of the weights on the servers."""
        if not self.holds_parts(spec, work):
            return None
        return PartedModel(spec, work, strategy, model, optimizer)

    def loop(
        self,
        spec: RunSpec,
        work: Workload,
        strategy: Any,
        model: Any,
        optimizer: Any,
        parted: PartedModel | None,
        source: tf.data.Dataset | CoordinatorLoop,
    ) -> tuple[CoordinatorLoop, list[str]]:
        """The loop over closures."""
        held = parted.held if parted else StepVariables.whole(model, optimizer)
        scheduled = Closures(spec, work, strategy, model, held, source)
        feed = scheduled.feed
        notes = [SPLIT_NOTE.format(num_workers=spec.workers) if feed.is_remote else FEED_NOTE]
        if count_on_server(held.optimizer):
            notes.append(COUNT_NOTE)
        stops = [*(planned.step for planned in spec.reconfigure), spec.steps or NEVER]
        return CoordinatorLoop(
            scheduled.schedule, spec.workers, stops, scheduled.served, feed
        ), notes


class Closures:
    """The closures of a segment: what is scheduled, and what the servers hold of it."""

    def __init__(
        self,
        spec: RunSpec,
        work: Workload,
        strategy: Any,
        model: Any,
        held: StepVariables,
        source: tf.data.Dataset | CoordinatorLoop,
    ) -> None:
        # TensorFlow creates one per strategy and returns the same object for later calls.
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self.feed = (
            source.feed
            if isinstance(source, CoordinatorLoop)
            else WorkerInput(self._coordinator, source, spec.workers)
        )
        self._spec, self._held, self._pushes = spec, held, Pushes()
        self._knows_pushes = work.train_step is None
        self._step = build_step(
            strategy,
            model,
            held,
            work,
            self.feed.take_batch,
            delays_ms={delay.worker: delay.ms for delay in spec.inject},
            pushes=self._pushes,
        )

    def schedule(self) -> Any:
        """Schedule one more closure; returns its remote value."""
        return self._coordinator.schedule(self._step, args=(self.feed.argument(),))

    def served(self, segment: int) -> VariablesServed:
        """The variables of each server, once the first closure is traced."""
        return served(
            segment,
            self._held,
            self._pushes if self._knows_pushes else None,
            num_workers=self._spec.workers,
            num_servers=self._spec.parameter_servers,
            feed="worker" if self.feed.is_remote else "coordinator",
        )


def count_on_server(optimizer: Any) -> bool:
    """Make `optimizer.iterations` exact when several workers push at the same time.

    Keras 3 reads the counter and writes it back plus one, so increments of concurrent workers are
    lost (79 counted for 101 steps of two workers). Adam's bias correction and the steps of a
    schedule are then late. TensorFlow's own `assign_add` runs on the server, atomically.

    Returns False if it is not a variable of its own (gradient accumulation divides it).
    """
    counter = optimizer.iterations
    if not isinstance(counter, keras.Variable):
        return False
    counter.assign_add = counter.value.assign_add
    return True
