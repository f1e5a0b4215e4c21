"""What `pytest -m` selects, before the tests are collected."""

from __future__ import annotations

import pytest


class _Marks(dict[str, bool]):
    """The names of a mark expression; a mark that is not set is false."""

    def __missing__(self, name: str) -> bool:
        return False


def may_select(config: pytest.Config, *marks: str) -> bool:
    """Return whether `pytest -m` selects a test with exactly these marks.

    To look for "not tf" in the expression is not enough: "not (tf or run)" excludes `tf`, too.
    """
    expression = str(config.getoption("markexpr", "")).strip()
    names = _Marks.fromkeys(marks, True)
    return not expression or bool(eval(expression, {"__builtins__": {}}, names))
