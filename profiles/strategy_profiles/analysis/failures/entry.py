"""One error that is known by what causes it."""

from __future__ import annotations

import re

from msgspec import Struct


class Known(Struct, frozen=True):
    """An error and its cause."""

    key: str
    pattern: re.Pattern[str]
    """Of the type and the message of the error."""
    cause: str
    """A clause that follows `because`; `{who}` is the replica, or `a replica` if it is unknown."""
    remedy: str
    """Sentences."""
    is_of_traceback: bool
    """Whether the pattern is of the traceback as well: some errors have no message."""


def known(
    key: str, pattern: str, cause: str, remedy: str, *, is_of_traceback: bool = False
) -> Known:
    return Known(key, re.compile(pattern, re.DOTALL), cause, remedy, is_of_traceback)
