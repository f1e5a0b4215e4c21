"""One step as the program sees it: where its input ends, and what came out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class RecordedStep:
    """Handed out by `Recorder.step()`; tells the recorder what only the program knows."""

    def __init__(self, number: int, examples: int | None, clock_ns: Callable[[], int]) -> None:
        self.number = number
        self.examples = examples
        self._clock_ns = clock_ns
        self._input_ns: int | None = None
        self._loss: Any = None
        self._marks: Any = None

    @contextmanager
    def input(self) -> Iterator[None]:
        """Around asking for the batch: the host time in which the step waited for it."""
        begin = self._clock_ns()
        try:
            yield
        finally:
            self._input_ns = (self._input_ns or 0) + self._clock_ns() - begin

    def result(self, *, loss: Any = None, marks: Any = None, examples: int | None = None) -> None:
        """What the step gave: a scalar loss, and per replica its marks (int64 ns).

        Tensors are welcome: they are read when the step ends, which waits for them.
        """
        self._loss, self._marks = loss, marks
        if examples is not None:
            self.examples = examples

    def settle(self) -> None:
        """Wait for the result: a step lasts until it is there."""
        if self._loss is not None:
            self._loss = float(np.asarray(self._loss))
        if self._marks is not None:
            self._marks = [[int(mark) for mark in replica] for replica in self._marks]

    @property
    def input_ms(self) -> float | None:
        return None if self._input_ns is None else self._input_ns / 1e6

    @property
    def loss(self) -> float | None:
        return self._loss

    @property
    def marks_ns(self) -> list[list[int]] | None:
        return self._marks
