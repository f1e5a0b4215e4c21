"""How a segment's steps are driven: the lab's own loop here, Keras `fit` in `fit.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from strategy_core.recorder.step import RecordedStep
from strategy_core.step import Step


class Loop(Protocol):
    """Does one step at a time, for whoever holds it."""

    def run_step(self, recorded: RecordedStep) -> int:
        """One step, its result told to the recorder; returns its number of examples."""

    def close(self) -> None:
        """Let go of everything; no step comes after."""


class CustomLoop:
    """The custom training loop: fetch the replicas' batches, call the step, read what came out."""

    def __init__(self, batches: Iterator[Any], step: Step) -> None:
        self.batches = batches
        self.step = step

    def run_step(self, recorded: RecordedStep) -> int:
        with recorded.input():
            batch, shares = next(self.batches)
        outcome = self.step(batch, shares)
        # Reading the numbers is the step's only wait for the devices.
        loss, examples = outcome.loss_and_examples.numpy()
        marks = None if outcome.marks is None else outcome.marks.numpy()
        recorded.result(loss=float(loss), marks=marks, examples=int(examples))
        return int(examples)

    def close(self) -> None:
        return None
