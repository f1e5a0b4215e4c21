"""`lab.trace_contexts`: the tracer that a package adds, in the group `strategy_lab.tracers`."""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from strategy_core.runtime.library_files import count_as_lab
from strategy_profiles.errors import LabError
from strategy_profiles.registered import registered


class Trace(Protocol):
    """A trace of contexts."""

    entries: list[Any]
    """One per context entered and per call that crosses one."""

    def save(self, path: str | Path, segment: int | None = None) -> None:
        """Write the trace: `.html` to step through, `.json`, or `.parquet` (the table).

        `segment` is that of the table's rows, if the trace is part of a run.
        """


def trace_contexts(*, values: bool = True) -> AbstractContextManager[Trace]:
    """Record every context switch of the block, and restore TensorFlow's methods afterwards.

    With `values=False` only the switches are recorded. Raises RuntimeError if a tracer is already
    on, and LabError if no tracer is installed.
    """
    added = registered("tracers").get("contexts")
    if added is None:
        raise LabError("No package that traces contexts is installed")
    tracer: Any = added.load()
    count_as_lab(Path(inspect.getfile(inspect.unwrap(tracer))).parent)
    traced: AbstractContextManager[Trace] = tracer(values=values)
    return traced
