"""Passes on exceptions that nothing in the program has caught, in a script and in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any


def when_uncaught(report: Callable[[BaseException], None]) -> Callable[[], None]:
    """Call `report` with each exception that nothing catches, until the result is called.

    The exception then ends the program, or the notebook's cell, as it would without this. Python
    gives the exit status of Ctrl-C to a process whatever `sys.excepthook` is.
    """
    before = sys.excepthook
    is_over = False

    def excepthook(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if not is_over:
            report(error)
        before(kind, error, trace)

    def after_cell(result: Any) -> None:
        # IPython catches what a cell raises, so that `sys.excepthook` is never called.
        if isinstance(result.error_in_exec, BaseException):
            report(result.error_in_exec)

    shell = _shell()

    def end() -> None:
        nonlocal is_over
        is_over = True
        if sys.excepthook is excepthook:  # otherwise somebody else's hook calls this one
            sys.excepthook = before
        if shell is not None:
            shell.events.unregister("post_run_cell", after_cell)

    sys.excepthook = excepthook
    if shell is not None:
        shell.events.register("post_run_cell", after_cell)
    return end


def _shell() -> Any:
    """IPython's shell; None in a program that has not imported IPython, or does not run in it."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()
