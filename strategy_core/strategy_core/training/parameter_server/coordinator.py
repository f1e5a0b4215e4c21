"""The coordinator's part: builds the loop over closures from a strategy, a model and a data set."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from strategy_core.training.parameter_server.closure import build_step
from strategy_core.training.parameter_server.closure_loop import CoordinatorLoop
from strategy_core.training.parameter_server.push_accounting import Pushes
from strategy_core.training.parameter_server.sharded_weights import StepVariables
from strategy_core.training.parameter_server.variable_placement import served
from strategy_core.training.parameter_server.worker_input import WorkerInput
from strategy_core.training.workload import Workload
from strategy_profiles.run.events import VariablesServed
from strategy_profiles.spec.run_spec import RunSpec

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


def coordinator_loop(
    spec: RunSpec,
    strategy: tf.distribute.Strategy,
    model: Any,
    held: StepVariables,
    work: Workload,
    source: tf.data.Dataset | WorkerInput,
) -> tuple[CoordinatorLoop, list[str]]:
    """Build the loop, and return it with notes for the user.

    `source` is the data set, or the feed of the previous loop, which then continues at its
    position.
    """
    # TensorFlow creates one per strategy and returns the same object for later calls.
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    feed = (
        source
        if isinstance(source, WorkerInput)
        else WorkerInput(coordinator, source, spec.workers)
    )
    notes = [SPLIT_NOTE.format(num_workers=spec.workers) if feed.is_remote else FEED_NOTE]
    if count_on_server(held.optimizer):
        notes.append(COUNT_NOTE)
    pushes = Pushes()
    step = build_step(
        strategy,
        model,
        held,
        work,
        feed.take_batch,
        delays_ms={delay.worker: delay.ms for delay in spec.inject},
        pushes=pushes,
    )

    def tell_served(segment: int) -> VariablesServed:
        return served(
            segment,
            held,
            pushes if work.train_step is None else None,
            num_workers=spec.workers,
            num_servers=spec.parameter_servers,
            feed="worker" if feed.is_remote else "coordinator",
        )

    loop = CoordinatorLoop(
        lambda: coordinator.schedule(step, args=(feed.argument(),)),
        spec.workers,
        [*(planned.step for planned in spec.reconfigure), spec.steps or NEVER],
        tell_served,
        feed,
    )
    return loop, notes


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
