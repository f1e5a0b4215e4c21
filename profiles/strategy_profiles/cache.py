"""What is kept in memory for later questions and other viewers: computed once, within a limit.

Streamlit's `cache_resource` limits only the number of entries, and keeps every state of a run that
grows beside the newest one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class OnceEach(Generic[Value]):
    """Values by key, each computed once even if several threads request it at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._values: dict[Hashable, Value] = {}

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of `key`, computed once. Errors of `compute` are raised and not kept."""
        with self._lock:
            own = self._locks.setdefault(key, threading.Lock())
        with own:
            if key not in self._values:
                self._values[key] = compute()
            return self._values[key]

    def computed(self, key: Hashable) -> Value | None:
        """Return the value of `key` if it has been computed."""
        with self._lock:
            return self._values.get(key)


class _Entry(Generic[Value]):
    def __init__(self, version: str) -> None:
        self.version = version
        self.value: OnceEach[Value] = OnceEach()
        self.size = 0


class KeptNewest(Generic[Value]):
    """Keeps the newest version of each name's value, and drops the least recently used ones.

    `size` returns what a value counts against `max_size`. The last value is kept at any size.
    """

    def __init__(self, size: Callable[[Value], int], max_values: int, max_size: int) -> None:
        self._size = size
        self._limits = max_values, max_size
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Entry[Value]] = OrderedDict()

    def get(self, name: str, version: str, compute: Callable[[], Value]) -> Value:
        """Return the value of `name` in this version, and drop any other version of it."""
        with self._lock:
            entry = self._kept.get(name)
            if entry is None or entry.version != version:
                entry = self._kept[name] = _Entry(version)
            self._kept.move_to_end(name)
        value = entry.value.get(version, compute)
        with self._lock:
            entry.size = self._size(value)
            self._forget_oldest()
        return value

    def newest(self, name: str) -> Value | None:
        """Return the value of `name` in the version requested last, if it is kept by now."""
        with self._lock:
            entry = self._kept.get(name)
        return None if entry is None else entry.value.computed(entry.version)

    def names(self) -> list[str]:
        """The names of what is kept, the one used last at the end."""
        with self._lock:
            return list(self._kept)

    def _forget_oldest(self) -> None:
        max_values, max_size = self._limits
        total = sum(entry.size for entry in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > max_values or total > max_size):
            total -= self._kept.popitem(last=False)[1].size
