"""What the server keeps for its viewers is computed once and has a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from strategy_profiles.cache import KeptNewest, OnceEach
from tests.timeouts import MAX_WAIT_S


def cache_of(max_values: int = 3, max_size: int = 100) -> KeptNewest[str]:
    return KeptNewest(len, max_values, max_size)


def not_computed_again() -> str:
    raise AssertionError("it is kept, and was computed again")


def computing(value: str) -> Callable[[], str]:
    return lambda: value


def test_a_kept_value_is_not_computed_again() -> None:
    cache = cache_of()
    assert cache.get("a", "1", computing("first")) == "first"
    assert cache.get("a", "1", not_computed_again) == "first"


def test_only_the_newest_version_of_a_run_is_kept() -> None:
    cache = cache_of()
    cache.get("a", "1", computing("first"))
    assert cache.get("a", "2", computing("second")) == "second"
    assert cache.get("a", "2", not_computed_again) == "second"
    assert cache.get("a", "1", computing("again")) == "again"
    assert cache.names() == ["a"]


def test_the_least_recently_used_value_is_dropped_first() -> None:
    cache = cache_of(max_values=2)
    for name in ("a", "b"):
        cache.get(name, "1", computing(name))
    cache.get("a", "1", not_computed_again)
    cache.get("c", "1", computing("c"))
    assert cache.names() == ["a", "c"]


def test_a_large_value_takes_the_place_of_several() -> None:
    cache = cache_of(max_size=10)
    for name in ("a", "b"):
        cache.get(name, "1", computing("x" * 5))
    cache.get("c", "1", computing("x" * 6))
    assert cache.names() == ["c"]
    cache.get("d", "1", computing("x" * 1000))  # more than the limit: kept while it is looked at
    assert cache.names() == ["d"]


def test_a_failure_is_not_kept() -> None:
    values: OnceEach[str] = OnceEach()
    with pytest.raises(AssertionError):
        values.get("a", not_computed_again)
    assert values.get("a", computing("value")) == "value"


def test_two_requests_at_once_compute_a_value_once() -> None:
    values: OnceEach[int] = OnceEach()
    begun, go_on = threading.Event(), threading.Event()
    num_computed = 0

    def compute() -> int:
        nonlocal num_computed
        num_computed += 1
        begun.set()
        assert go_on.wait(MAX_WAIT_S)
        return num_computed

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(values.get, "a", compute) for _ in range(2)]
        assert begun.wait(MAX_WAIT_S)
        go_on.set()
        assert [each.result() for each in futures] == [1, 1]
