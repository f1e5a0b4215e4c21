"""Values that files and requests do not expect."""

from __future__ import annotations

import random
from typing import Any

WRONG: tuple[Any, ...] = (
    None,
    True,
    False,
    "",
    "x",
    "-1",
    "1e999",
    "\ud800",
    "\u202e\n\x00",
    "<script>alert(1)</script>",
    "x" * 10_000,
    0,
    -1,
    1,
    7,
    2**31 - 1,
    2**31,
    -(2**31),
    2**53,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**400,
    0.5,
    -0.0,
    -1e-9,
    1e308,
    -1e308,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
    [],
    [None],
    [[]],
    [0, 1, 2],
    [[0, 0]],
    [[0, 0, 0]],
    [[2**63, 0, 0]],
    ["x"] * 50,
    {},
    {"x": 1},
    {"name": None},
    {"": {"": {}}},
)


def wrong_value(rng: random.Random) -> Any:
    """A value of a type and size that may not fit; now and then a deep one."""
    if rng.random() < 0.03:
        value: Any = 1
        for _ in range(rng.choice((20, 200, 900))):
            value = [value] if rng.random() < 0.5 else {"a": value}
        return value
    return rng.choice(WRONG)


def near_value(value: Any, rng: random.Random) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((0, value + 1, value * 2, value + 10**6, value // 2, 2**31 - 1, 2**40))
    if isinstance(value, float):
        return rng.choice((0.0, value * 2, value + 1.0, value / 3, 1e12))
    if isinstance(value, str):
        return rng.choice(("other", value + "x", value[:1], value.upper(), ""))
    return value


def is_other_type(before: Any, after: Any) -> bool:
    """Whether one cannot replace the other: numbers are one type, null fits no type."""

    def kind(value: Any) -> str:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return "number" if is_number else type(value).__name__

    return kind(before) != kind(after)
