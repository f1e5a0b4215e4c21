"""The same workload through Keras `fit`, controlled one batch at a time.

`fit` cannot be paused from outside, so it runs in its own thread and waits for permission before
every batch. Between two batches the run may stop, change or save, as in the custom loop.

The loss is that of the custom loop: the sum over examples, each weighted with its share of the
global batch. Keras reports the mean of the replicas' losses weighted by their examples. Both are
equal unless a last partial batch is split unevenly.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

from strategy_core.cluster.barrier import sum_over_replicas
from strategy_core.cluster.command_agreement import CommandAgreement
from strategy_core.private_tf import engine as private_tf
from strategy_core.recorder.step import RecordedStep
from strategy_core.training.custom_loop import wait_for_update
from strategy_core.training.input_pipeline import for_distribution, with_shares
from strategy_core.training.keras_fit_sync import FitAgreement
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
