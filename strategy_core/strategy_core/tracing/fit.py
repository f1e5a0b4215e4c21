"""One call of Keras's `fit`, `evaluate` or `predict`, as its list of callbacks reports it."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Any

from strategy_core.recorder.epoch_end import EpochEnds
from strategy_core.tracing.faults import guarded
from strategy_core.tracing.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from strategy_core.tracing.counted_examples import CountedExamples
    from strategy_core.tracing.recording import Recording
    from strategy_profiles.run.events import EpochEnded, EpochEnding

    Examples = int | Callable[[], int | None] | None

_METHODS = {"test": "evaluate", "predict": "predict"}
"""Keras's names by its names of the phases."""


class Fit:
    """Makes steps of the training batches. A step lasts while Keras runs its train function."""

    def __init__(self, session: Session, callbacks: Any) -> None:
        self.session = session
        self._callbacks = weakref.ref(callbacks)
        self._depth = 0
        """`fit` calls `evaluate` with the same list of callbacks."""
        self._recording: Recording | None = None
        self._batches: Any = None
        """Weak reference to Keras's iterator over the batches of an epoch."""
        self._sizes: BatchSizes | None = None
        """Of the epoch's batches; None before the first one of them."""
        self._first_batch = 0
        self._began_ns: dict[str, int] = {}
        """When `evaluate` or `predict` began, by its name."""
        self._ends = EpochEnds()
        self._recorded: Recording | None = None
        """The recording that has the last step."""
        self._counted: CountedExamples | None = None
        """Counts the examples if the dataset does not tell their number."""

    @guarded
    def begin(self, phase: str) -> None:
        self._depth += 1
        callbacks = self._callbacks()
        if self._depth == 1:
            self.session.fit_begins(callbacks)
        if phase == "train":
            self._batches = self.session.this_thread.epoch_iterator
        else:
            self._began_ns[phase] = time.monotonic_ns()
            if self._depth > 1:
                self._write(self._ends.validation_begins())

    @guarded
    def end(self, phase: str) -> None:
        now_ns = time.monotonic_ns()
        if (began_ns := self._began_ns.pop(phase, None)) is not None:
            is_inner = self._depth > 1
            name = "The validation in Keras's `fit`" if is_inner else f"Keras's `{_METHODS[phase]}`"
            self.session.evaluated(name, now_ns - began_ns)
            if is_inner:
                self._ends.validated(now_ns)
        self._depth -= 1
        if self._depth == 0:
            self._ends.callbacks_ended(now_ns)
            self._record_epoch_end(now_ns)
            if self._recording is not None:
                self._recording.drop()  # the data ended where the step had begun
            self.session.fit_ends()

    @guarded
    def epoch_end(self) -> None:
        """The callbacks' `on_epoch_end` is about to be called."""
        self._write(self._ends.callbacks_begin(time.monotonic_ns(), is_first=True))

    @guarded
    def epoch_begin(self) -> None:
        """The callbacks' `on_epoch_begin` is about to be called."""
        self._sizes = None
        self._ends.callbacks_ended(time.monotonic_ns())
        self._write(self._ends.next_epoch_begins())

    def _record_epoch_end(self, now_ns: int) -> None:
        if self._recorded is not None:
            self._write(self._ends.close(now_ns, self._recorded.recorder.next_step))

    def _write(self, event: EpochEnding | EpochEnded | None) -> None:
        """Write it if the steps of the epoch are part of the current recording."""
        recording = self._recorded
        if event is not None and recording is not None and recording is self.session.recording:
            recording.recorder.write(event)

    @guarded
    def batch_begin(self, batch: int) -> None:
        callbacks = self._callbacks()
        if callbacks is None:
            return
        if self._sizes is None:  # the first batch of an epoch, or not recorded
            self._record_epoch_end(time.monotonic_ns())
        self._first_batch = batch
        if self.session.keeps_graphs:
            self.session.first_call(self._train_function)
        recording = self._recording = self.session.recording_of_fit(callbacks)
        if recording is None:
            return
        if self._sizes is None:
            self._sizes = BatchSizes(self._adapter)
        size = self._sizes.batch_size
        recording.begin_fit_step(callbacks.model, size)
        if size is None:
            self._begin_to_count(recording, callbacks.model, batch)

    def _begin_to_count(self, recording: Recording, model: Any, batch: int) -> None:
        if self._counted is None:
            from strategy_core.tracing.counted_examples import CountedExamples  # has TensorFlow

            self._counted = CountedExamples(model)
        self._counted.begin(batch, sum(map(len, self.session.evaluations.values())))
        if not self._counted.is_possible:
            recording.note(
                "The number of examples in a step of `fit` is unknown: the batches of its dataset "
                "have no fixed size, and the model does not count them as Keras's own `train_step` "
                "does. `batch(n, drop_remainder=True)` makes it known"
            )

    @guarded
    def batch_end(self, batch: int, logs: Any, ended_ns: int) -> None:
        recording, self._recording = self._recording, None
        num_batches = self._num_batches(batch)
        if self.session.keeps_graphs:
            self.session.first_call_done(self._train_function)
        if self.session.is_idle:
            self.session.num_idle_steps += num_batches
        if recording is None or recording is not self.session.recording:
            return
        examples = self._examples(batch, num_batches)
        loss = (logs or {}).get("loss")
        step = recording.end_fit_step(num_batches, examples, loss, ended_ns)
        if step is not None:
            self._ends.step_ended(step)
            self._recorded = recording
        if self.session.is_due is not None:
            self.session.end_if_due()

    @property
    def _train_function(self) -> Any:
        return getattr(getattr(self._callbacks(), "model", None), "train_function", None)

    def _num_batches(self, last: int) -> int:
        """Batches of the execution that ended with `last`: fewer at the end of an epoch."""
        callbacks = self._callbacks()
        total = (callbacks.params or {}).get("steps") if callbacks is not None else None
        end = last + 1 if total is None else min(last + 1, total)
        return int(max(1, end - self._first_batch))

    def _examples(self, last: int, num_batches: int) -> Examples:
        if self._sizes is not None and self._sizes.batch_size is not None:
            return self._sizes.examples(last, num_batches)
        return None if self._counted is None else self._counted.end(last, num_batches)

    @property
    def _adapter(self) -> Any:
        """Keras's source of the batches."""
        iterator = self._batches() if self._batches is not None else None
        return getattr(iterator, "data_adapter", None)


class BatchSizes:
    """How many examples the batches of an epoch have, as Keras's source of the batches tells.

    It is asked once per epoch: for a `tf.data.Dataset`, Keras flattens the structure of its
    elements each time it is asked for the size, and runs an op to count its batches. `adapter` is
    the source, or None.
    """

    def __init__(self, adapter: Any) -> None:
        size = getattr(adapter, "batch_size", None)
        self.batch_size = None if size is None else int(size)
        self._num_batches: int | None = None
        """Of the epoch, if the last one is smaller."""
        self._last_size: int | None = None
        if size is not None and getattr(adapter, "has_partial_batch", False):
            self._num_batches = getattr(adapter, "num_batches", None)
            partial = getattr(adapter, "partial_batch_size", None)
            self._last_size = None if partial is None else int(partial)

    def examples(self, last: int, num_batches: int) -> int | None:
        """Examples of the `num_batches` batches that end with number `last`; None if unknown."""
        size = self.batch_size
        if size is None:
            return None
        if self._num_batches is None or last + 1 < self._num_batches:
            return size * num_batches
        if self._last_size is None:
            return None
        return size * (num_batches - 1) + self._last_size
