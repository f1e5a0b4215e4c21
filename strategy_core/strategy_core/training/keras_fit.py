"""The same workload through Keras `fit`, controlled one batch at a time.

`fit` cannot be paused from outside, so it runs in its own thread and waits for permission before
every batch. Between two batches the run may stop, change or save, as in the custom loop.

The loss is that of the custom loop: the sum over examples, each weighted with its share of the
global batch. Keras reports the mean of the replicas' losses weighted by their examples. Both are
equal unless a last partial batch is split unevenly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from strategy_core.cluster.barrier import Sum, sum_over_replicas
from strategy_core.cluster.command_agreement import CommandAgreement
from strategy_core.private_tf import engine as private_tf
from strategy_core.recorder.step import RecordedStep
from strategy_core.training.custom_loop import wait_for_update
from strategy_core.training.input_pipeline import for_distribution, with_shares
from strategy_core.training.keras_fit_timestamps import FitMarks
from strategy_core.training.train_step import per_example
from strategy_core.training.workload import Workload
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec

_WITHOUT_END = 1 << 40


class FitLoop:
    """Keras `fit`, one step at a time: see the module's docstring."""

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        model: Any,
        optimizer: Any,
        work: Workload,
        dataset: tf.data.Dataset,
        *,
        spec: RunSpec,
        marks: FitMarks,
        agreement: CommandAgreement | None = None,
    ) -> None:
        if work.train_step is not None:
            raise SpecError(
                f"fit cannot use the train_step of {work.path.name}: it has its own",
                advice="Choose the custom loop",
                field="loop",
            )
        with strategy.scope():
            loss = _SharedLoss(work, dataset.element_spec[1])
            # Without a value, Keras would decide for XLA by device and strategy.
            model.compile(optimizer=optimizer, loss=loss, jit_compile=spec.xla)
        if strategy.num_replicas_in_sync > 1:
            private_tf.build_for_fit(model, strategy, dataset.element_spec)
        self.agreement: FitAgreement | None = None
        if agreement is not None:
            private_tf.let_fit_span_processes()
            self.agreement = FitAgreement(agreement, sum_over_replicas(strategy))
        self._marks = marks
        self._wait_for_update = wait_for_update()
        self._model = model
        self._dataset = for_distribution(_weighted(dataset))
        self._global_batch_size = spec.global_batch_size
        self._handoff = _StepHandoff()
        self._thread = threading.Thread(target=self._fit, name="keras-fit", daemon=True)

    def run_step(self, recorded: RecordedStep) -> int:
        if self._thread.is_alive():
            loss = self._handoff.one_step()
        else:
            with private_tf.iterators_without_autotune():
                self._thread.start()
                loss = self._handoff.one_step()
        if self.agreement is not None:
            self.agreement.step_done()
        self._wait_for_update()
        marks, known = self._marks.read()
        examples = known or self._global_batch_size
        recorded.result(loss=loss, marks=marks, examples=examples)
        return examples

    def on_the_way(self) -> Iterator[None]:
        return iter(())

    def close(self) -> None:
        """End `fit` while it waits between two batches."""
        if self._thread.is_alive():
            self._handoff.leave()
            self._thread.join()

    def _fit(self) -> None:
        try:
            self._model.fit(
                self._dataset,
                steps_per_epoch=_WITHOUT_END,
                shuffle=False,
                callbacks=[self._handoff],
                verbose=0,
            )
        except _Leave:
            pass
        except BaseException as error:
            self._handoff.fail(error)


class _Leave(Exception):  # noqa: N818 - not an error
    """Unwinds `fit`."""


class _StepHandoff(keras.callbacks.Callback):
    """Passes control between two threads: either `fit` or the caller of `one_step` runs."""

    def __init__(self) -> None:
        super().__init__()
        self._go = threading.Semaphore(0)
        self._done = threading.Semaphore(0)
        self._leaving = False
        self._loss = 0.0
        self._error: BaseException | None = None

    def one_step(self) -> float:
        """Let `fit` run one batch. Returns its loss; raises the error that ended `fit`."""
        self._go.release()
        self._done.acquire()
        if self._error is not None:
            raise self._error
        return self._loss

    def leave(self) -> None:
        self._leaving = True
        self._go.release()

    def fail(self, error: BaseException) -> None:
        self._error = error
        self._done.release()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._go.acquire()
        if self._leaving:
            raise _Leave
        self.model.reset_metrics()  # otherwise the loss is a mean over all steps so far

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._loss = float((logs or {})["loss"])
        self._done.release()


class _SharedLoss(keras.losses.Loss):
    """The workload's loss per example, to be weighted with the shares and summed."""

    def __init__(self, work: Workload, labels: Any) -> None:
        super().__init__(name="loss", reduction="sum")
        self._loss_fn = work.loss_fn
        self._dtype_of_labels = labels.dtype

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        labels = tf.cast(y_true, self._dtype_of_labels)  # Keras converts labels to floats
        return per_example(self._loss_fn(labels, y_pred))


def _weighted(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """(features, labels) -> (features, labels, shares): Keras's sample weights."""
    return with_shares(dataset).map(lambda batch, shares: (batch[0], batch[1], shares))


AGREE_EVERY_S = 0.1
MAX_STEPS = 16
"""Most steps between two all-reduces, so that a worker that becomes slow soon gets commands
again."""


class FitAgreement:
    """Decides when workers of `fit` agree on commands, and on what. Each calls it after every step.

    A step of `fit` returns only its logs, so agreeing takes a separate all-reduce, which costs a
    short step as much as a small gradient does: workers agree about ten times a second. The number
    of steps between two of them follows from the time of the previous ones, summed over all workers
    in the same all-reduce. All workers have the same sum and so compute the same number; with their
    own times they could disagree and block each other.
    """

    def __init__(
        self, agreement: CommandAgreement, summed: Sum, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._agreement = agreement
        self._summed = summed
        self._clock = clock
        self._since_s = clock()
        self._every = self._num_left = 1

    def step_done(self) -> None:
        """Call after each step of `fit`: exchanges the counts of received commands if it is due."""
        self._num_left -= 1
        if self._num_left:
            return
        now_s = self._clock()
        # Whole milliseconds: their sum is exact in any order.
        took_ms = np.float32(round(min(now_s - self._since_s, 3600.0) * 1e3))
        *counts, every_took_ms = self._summed(
            np.append(self._agreement.contribution(), took_ms)
        ).tolist()
        self._agreement.take_sum(counts)
        num_replicas = counts[-1]
        step_s = every_took_ms / num_replicas / self._every / 1e3
        self._every = int(min(max(AGREE_EVERY_S / max(step_s, 1e-6), 1), MAX_STEPS))
        self._num_left = self._every
        self._since_s = self._clock()
