from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

SAMPLERS = {"stack-sampler", "python-sampler"}


@pytest.fixture(autouse=True)
def _no_sampler_is_left() -> Iterator[None]:
    """A recording samples until it ends, in whatever way, and not longer."""
    before = set(threading.enumerate())
    yield
    left = [each.name for each in threading.enumerate() if each not in before]
    assert not SAMPLERS.intersection(left)
