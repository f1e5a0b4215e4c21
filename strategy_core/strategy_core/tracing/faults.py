"""Errors of the lab's own in a traced program: printed once, and the end of the recording."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec

from strategy_core.tracing.own_lines import say
from strategy_core.tracing.settings import STRICT_VARIABLE

P = ParamSpec("P")


class Faults:
    """Whether the recording still works."""

    def __init__(self) -> None:
        self.is_strict = bool(os.environ.get(STRICT_VARIABLE))
        self.error: BaseException | None = None
        """The error that ended the recording."""
        self.is_over = False
        """Whether nothing more is recorded, because of the error or for another reason.

        An attribute: each call of a property has a cost in every step.
        """

    @property
    def is_off(self) -> bool:
        return self.error is not None

    def tell(self, error: Exception) -> None:
        """Handle an error of the lab's own. With `STRATEGY_LAB_TRACE_STRICT` it ends the process.

        The process ends at once, because the program could catch an exception.
        """
        if self.error is not None and not self.is_strict:
            return
        self.error, self.is_over = error, True
        say(f"The recording has ended, the program goes on. {_where(error)}")
        if self.is_strict:
            traceback.print_exception(error)
            if sys.stderr is not None:
                sys.stderr.flush()
            os._exit(70)


def guarded(method: Callable[P, Any]) -> Callable[P, Any]:
    """A method that does nothing once the recording has failed, and never raises.

    Its object is a `Session`, or has one as `session`.
    """

    @functools.wraps(method)
    def safe(*args: P.args, **kwargs: P.kwargs) -> Any:
        session: Any = getattr(args[0], "session", args[0])  # no property: see `Faults.is_over`
        if session.faults.is_over:
            return None
        try:
            if session.turn is None:
                return method(*args, **kwargs)
            with session.turn:
                return method(*args, **kwargs)
        except Exception as error:
            session.faults.tell(error)
            return None

    return safe


def _where(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1:]
    lines = "".join(f" ({frame.filename}:{frame.lineno})" for frame in last)
    return f"{type(error).__name__}: {error}{lines}"
