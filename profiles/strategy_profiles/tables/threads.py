"""Work on the parts of something large in a few threads at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa

_MOST_THREADS = 4
_In = TypeVar("_In")
_Out = TypeVar("_Out")


def in_threads(work: Callable[[_In], _Out], given: Sequence[_In]) -> list[_Out]:
    """Return the results in order. Arrow, NumPy and checksums release the GIL."""
    threads = min(os.cpu_count() or 1, _MOST_THREADS, len(given))
    if threads < 2:
        return list(map(work, given))
    from concurrent.futures import ThreadPoolExecutor

    _import_pandas()
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, given))


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Do `work` in a thread of its own during a block, and discard its result or its error."""
    from concurrent.futures import ThreadPoolExecutor

    _import_pandas()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work)
        yield


def _import_pandas() -> None:
    """Make an array of PyArrow: the first one imports pandas.

    Several threads must not do that at once (see `app/strategy_app/server/preload.py`).
    """
    pa.array([0])
