"""The server may hold more connections than a process usually may."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from strategy_app.server.sockets import MANY, allow_many_open_files

FILES = resource.RLIMIT_NOFILE


@pytest.fixture
def hard() -> Iterator[int]:
    """The most that this process may ask for; its limit is that of most shells meanwhile."""
    before = soft, hard = resource.getrlimit(FILES)
    if hard != resource.RLIM_INFINITY and hard <= 1024:
        pytest.skip(f"this user may open {hard} files at most")
    resource.setrlimit(FILES, (min(1024, soft), hard))
    yield hard
    resource.setrlimit(FILES, before)


def test_the_limit_of_open_files_is_raised_as_far_as_is_allowed(hard: int) -> None:
    raised = allow_many_open_files()
    assert raised == (MANY if hard == resource.RLIM_INFINITY else min(MANY, hard))
    assert resource.getrlimit(FILES) == (raised, hard)


def test_a_higher_limit_stays(hard: int) -> None:
    if hard == resource.RLIM_INFINITY or hard > MANY:
        resource.setrlimit(FILES, (MANY + 1, hard))
        assert allow_many_open_files() == MANY + 1
    else:
        resource.setrlimit(FILES, (hard, hard))
        assert allow_many_open_files() == hard
