"""The tracer: hooks tf.distribute for the time of a block, and gives the book that it kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strategy_core.contexts.patches import installed
from strategy_core.contexts.record import save
from strategy_core.contexts.trace import ContextTrace


class SavableTrace(ContextTrace):
    """A trace that its owner can write down."""

    def save(self, path: str | Path) -> None:
        """Write the trace: `.html` to step through, `.json`, or `.parquet` (the table)."""
        save(self, Path(path))


@contextmanager
def trace_contexts(*, values: bool = True) -> Iterator[SavableTrace]:
    """Record every context switch of the block. Off, it leaves nothing behind in TensorFlow.

    `values` off records the switches alone. Raises RuntimeError where a tracer is on already.
    """
    trace = SavableTrace(describe_values=values)
    with installed(trace):
        yield trace
