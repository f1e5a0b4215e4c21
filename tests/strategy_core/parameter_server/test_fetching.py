"""A closure's result: what a lost worker did not hand over any more is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.tf


class PretendValue:
    """A remote value whose every fetch ends as the test says."""

    def __init__(self, *outcomes: Callable[[], Any]) -> None:
        self._outcomes = list(outcomes)

    def fetch(self) -> Any:
        return self._outcomes.pop(0)()


def not_copied() -> Any:
    """As TensorFlow has it where the worker that holds the result is gone."""
    import tensorflow as tf

    raise tf.errors.UnavailableError(None, None, "failed to connect to all addresses")


def forgotten() -> Any:
    """And where a fresh process has taken the worker's place."""
    import tensorflow as tf

    raise tf.errors.InvalidArgumentError(
        None, None, "Unable to find the relevant tensor remote_handle"
    )


def fetched(value: PretendValue, *, gives_up_after: int = 100) -> tuple[Any, int]:
    """The result, and how often it was waited for."""
    from strategy_core.parameter_server.fetching import RETRY_S, fetch

    pauses: list[float] = []

    def pause(length_s: float) -> bool:
        pauses.append(length_s)
        return len(pauses) > gives_up_after

    result = fetch(value, pause)
    assert set(pauses) <= {RETRY_S}
    return result, len(pauses)


def test_a_result_that_is_there_is_taken_at_once() -> None:
    assert fetched(PretendValue(lambda: 7)) == (7, 0)


def test_a_result_lost_with_its_worker_is_waited_for_until_another_worker_has_it() -> None:
    value = PretendValue(not_copied, not_copied, forgotten, lambda: 7)
    assert fetched(value) == (7, 3)


def test_the_closures_own_error_is_raised() -> None:
    import tensorflow as tf

    own = tf.errors.UnavailableError(None, None, "the parameter server is gone")

    def fails() -> Any:
        raise own

    with pytest.raises(tf.errors.UnavailableError, match="the parameter server is gone"):
        fetched(PretendValue(not_copied, fails, fails))


def test_an_error_that_is_no_workers_is_raised_at_once() -> None:
    def fails() -> Any:
        raise ValueError("no such op")

    with pytest.raises(ValueError, match="no such op"):
        fetched(PretendValue(fails))


def test_nobody_waits_once_the_loop_is_closed() -> None:
    import tensorflow as tf

    with pytest.raises(tf.errors.UnavailableError):
        fetched(PretendValue(*[not_copied] * 4), gives_up_after=2)
