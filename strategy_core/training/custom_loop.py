"""How a segment's steps are driven: the lab's own loop here, Keras `fit` in `fit.py`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol

import tensorflow as tf

from strategy_core.cluster.command_agreement import CommandAgreement
from strategy_core.recorder.step import RecordedStep, StepResult
from strategy_core.training.train_step import Step, marks_ns


class Loop(Protocol):
    """Does one step per call."""

    def run_step(self, recorded: RecordedStep) -> int:
        """One step, its result told to the recorder; returns its number of examples."""

    def on_the_way(self) -> Iterator[None]:
        """One turn for each step that has begun elsewhere and has to end before the training state
        is known; none begins meanwhile."""

    def close(self) -> None:
        """Let go of everything; no step comes after."""


class CustomLoop:
    """The custom training loop: fetch the replicas' batches, call the step, read what came out."""

    def __init__(
        self, batches: Iterator[Any], step: Step, agreement: CommandAgreement | None = None
    ) -> None:
        self.batches = batches
        self.step = step
        self.agreement = agreement
        self._told: tuple[Any, tf.Tensor] | None = None
        """What was last told, and the tensor of it: it changes with a command, and a tensor made
        at every step would be one of the dearest lines of its Python."""

    def run_step(self, recorded: RecordedStep) -> int:
        batch, shares = recorded.ask(self.batches)
        # Reading the numbers is the step's only wait for the devices; plain ones, since after a
        # step NumPy's functions take several times as long as elsewhere.
        if self.agreement is None:
            num_summed = 0
            numbers = self.step(batch, shares).numpy().tolist()
        else:
            told = self.agreement.told()
            num_summed = len(told)
            if self._told is None or told is not self._told[0]:
                self._told = told, tf.constant(told)
            numbers = self.step(batch, shares, self._told[1]).numpy().tolist()
            self.agreement.hear(numbers[2 : 2 + num_summed])
        examples = int(numbers[1])
        recorded.result_later(partial(_loss_and_marks, numbers, num_summed), examples)
        return examples

    def on_the_way(self) -> Iterator[None]:
        return iter(())

    def close(self) -> None:
        self.batches = iter(())  # whatever is fetched ahead goes


def _loss_and_marks(numbers: list[float], num_summed: int) -> StepResult:
    return numbers[0], marks_ns(numbers[2 + num_summed :])
