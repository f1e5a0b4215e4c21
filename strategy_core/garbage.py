"""Python's search for unreachable cycles, kept out of what people wait for.

A full one looks at every object of the imports, over a million: 0.3 s and more, at any moment.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def leave_imports_alone() -> None:
    """What is there by now stays for good: no search looks at it any more."""
    gc.freeze()


@contextmanager
def postponed() -> Iterator[None]:
    """No search inside."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
