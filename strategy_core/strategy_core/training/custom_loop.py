"""The loop over a segment's steps: the lab's custom loop.

`keras_fit.py` has that of Keras `fit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import tensorflow as tf

from strategy_core.cluster.command_agreement import CommandAgreement
from strategy_core.recorder.marks import has_gpus
from strategy_core.recorder.step import RecordedStep, StepResult
from strategy_core.training.train_step import Step, marks_ns


class Loop(Protocol):
    """Runs one step at a time for the trainer."""

    def run_step(self, recorded: RecordedStep) -> int:
        """Run one step and pass its result to the recorder. Returns its number of examples."""

    def on_the_way(self) -> Iterator[None]:
        """Yield once per step that was started asynchronously and must end before the state is
        read.

        No new step starts meanwhile.
        """

    def close(self) -> None:
        """Release all resources; no step may follow."""


class CustomLoop:
    """The custom training loop: fetch the replicas' batches, call the step, read its result."""

    def __init__(
        self, batches: Iterator[Any], step: Step, agreement: CommandAgreement | None = None
    ) -> None:
        self.batches = batches
        self.step = step
        self.agreement = agreement
        self._wait_for_update = wait_for_update()
        self._contribution: tuple[Any, tf.Tensor] | None = None
        """The last counts of commands and the tensor made from them.

        The counts change only with a command. Making a tensor at every step would be one of the
        most expensive lines of the step's Python.
        """

    def run_step(self, recorded: RecordedStep) -> int:
        batch, shares = recorded.next_batch(self.batches)
        # Reading the result waits for the devices. It is converted to Python numbers, because right
        # after a step NumPy's functions take several times as long as elsewhere.
        if self.agreement is None:
            num_summed = 0
            numbers = self.step(batch, shares).numpy().tolist()
        else:
            own = self.agreement.contribution()
            num_summed = len(own)
            if self._contribution is None or own is not self._contribution[0]:
                self._contribution = own, tf.constant(own)
            numbers = self.step(batch, shares, self._contribution[1]).numpy().tolist()
            self.agreement.take_sum(numbers[2 : 2 + num_summed])
        self._wait_for_update()
        examples = int(numbers[1])
        recorded.result_later(partial(_loss_and_marks, numbers, num_summed), examples)
        return examples

    def on_the_way(self) -> Iterator[None]:
        return iter(())

    def close(self) -> None:
        self.batches = iter(())  # drops the batches that were fetched ahead


def wait_for_update() -> Callable[[], None]:
    """Return what waits for the rest of a step whose result was read: on GPUs the assignments of
    the update, for which the result does not wait; on CPUs nothing, as the call has done them."""
    return tf.test.experimental.sync_devices if has_gpus() else _done


def _done() -> None: ...


def _loss_and_marks(numbers: list[float], num_summed: int) -> StepResult:
    return numbers[0], marks_ns(numbers[2 + num_summed :])
