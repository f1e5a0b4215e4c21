"""The tracer: hooks tf.distribute during a `with` block and yields the trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strategy_contexts.patches import installed
from strategy_contexts.record import save
from strategy_contexts.trace import ContextTrace


class SavableTrace(ContextTrace):
    """A trace that can be written to a file."""

    def save(self, path: str | Path, segment: int | None = None) -> None:
        """Write the trace: `.html` to step through, `.json`, or `.parquet` (the table).

        `segment` is that of the table's rows, if the trace is part of a run.
        """
        save(self, Path(path), segment)


@contextmanager
def trace_contexts(*, values: bool = True) -> Iterator[SavableTrace]:
    """Record every context switch of the block, and restore TensorFlow's methods afterwards.

    With `values=False` only the switches are recorded. Raises RuntimeError if a tracer is already
    on.
    """
    trace = SavableTrace(describe_values=values)
    with installed(trace):
        yield trace
