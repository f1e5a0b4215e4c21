"""How a segment's steps are driven: the lab's own loop here, Keras `fit` in `fit.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from strategy_core.cluster.agreement import Agreement
from strategy_core.recorder.step import RecordedStep
from strategy_core.step import Step


class Loop(Protocol):
    """Does one step at a time, for whoever holds it."""

    def run_step(self, recorded: RecordedStep) -> int:
        """One step, its result told to the recorder; returns its number of examples."""

    def on_the_way(self) -> Iterator[None]:
        """One turn for each step that has begun elsewhere and has to end before the training state
        can be told; none begins meanwhile."""

    def close(self) -> None:
        """Let go of everything; no step comes after."""


class CustomLoop:
    """The custom training loop: fetch the replicas' batches, call the step, read what came out."""

    def __init__(
        self, batches: Iterator[Any], step: Step, agreement: Agreement | None = None
    ) -> None:
        self.batches = batches
        self.step = step
        self.agreement = agreement

    def run_step(self, recorded: RecordedStep) -> int:
        with recorded.input():
            batch, shares = next(self.batches)
        told = () if self.agreement is None else (tf.constant(self.agreement.told()),)
        outcome = self.step(batch, shares, *told)
        # Reading the numbers is the step's only wait for the devices.
        loss, examples, *summed = outcome.loss_and_examples.numpy()
        if self.agreement is not None:
            self.agreement.hear(np.asarray(summed))
        marks = None if outcome.marks is None else outcome.marks.numpy()
        recorded.result(loss=float(loss), marks=marks, examples=int(examples))
        return int(examples)

    def on_the_way(self) -> Iterator[None]:
        return iter(())

    def close(self) -> None:
        return None
