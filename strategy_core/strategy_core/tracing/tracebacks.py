"""Tracebacks of a traced program, without the lab's frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

FOLDER = f"{Path(__file__).resolve().parent}/"
"""Of the frames that the program does not have when it runs alone."""

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def without_lab_frames(hook: Hook) -> Hook:
    """A `sys.excepthook` that hands on the exception without the lab's frames."""

    def excepthook(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> Any:
        clean(error, set())
        return hook(kind, error, error.__traceback__ if trace is not None else None)

    return excepthook


def clean(error: BaseException | None, seen: set[int]) -> None:
    """Remove the lab's frames from an exception, and from those that it came from."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _without_ours(error.__traceback__)
    clean(error.__cause__, seen)
    clean(error.__context__, seen)


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
    last = trace
    while last is not None and last.tb_next is not None:
        if _is_ours(last.tb_next):
            last.tb_next = last.tb_next.tb_next
        else:
            last = last.tb_next
    return trace


def _is_ours(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(FOLDER)
