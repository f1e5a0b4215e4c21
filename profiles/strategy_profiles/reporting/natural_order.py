"""The order in which people count: `dense_2` before `dense_10`."""

from __future__ import annotations

import re


def natural(name: str) -> list[tuple[int, str]]:
    """Sorts `dense_2` before `dense_10`, and `dense` before both."""
    parts = [part.lstrip("0") if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    # Fewer digits is the smaller number: a name may have more than `int` converts.
    return [(len(part) if part.isdigit() else -1, part) for part in parts]
