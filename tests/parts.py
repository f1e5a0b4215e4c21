"""What `make test` runs of tests that take long, and what is left to `make test-long`.

`@pytest.mark.long` marks a test that only `make test-long` runs. `@pytest.mark.long(keep=2)` on a
test with many parameters leaves two of its cases to `make test`: the first, the last, or those
evenly between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

PARTS = ("all", "daily", "long")


def spread(num_cases: int, keep: int) -> set[int]:
    """Indices of `keep` cases, evenly spread from the first to the last."""
    if keep >= num_cases:
        return set(range(num_cases))
    return {round(at * (num_cases - 1) / max(keep - 1, 1)) for at in range(keep)}


def long_only(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """The tests that `make test` leaves out."""
    cases: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("long") is not None:
            cases[str(item.path), item.nodeid.partition("[")[0]].append(item)
    chosen: set[pytest.Item] = set()
    for of_one in cases.values():
        marker = of_one[0].get_closest_marker("long")
        kept = spread(len(of_one), marker.kwargs.get("keep", 0) if marker else 0)
        chosen.update(item for at, item in enumerate(of_one) if at not in kept)
    return chosen
