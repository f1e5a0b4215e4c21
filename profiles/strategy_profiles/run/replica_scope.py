"""The scope that tf.distribute gives the ops of a replica: `replica_1/dense/MatMul`.

The first replica's ops have no such scope. Under other scopes the part can stand further inside:
`gradient_tape/replica_1/dense/MatMul`.
"""

from __future__ import annotations

import re

_SCOPE = re.compile(r"(?:^|(?<=/))replica_(\d{1,5})(?:/|$)")
"""Not more digits: a number that long is a program's own name."""


def replica_in(name: str) -> int | None:
    """Return the replica whose scope is part of an op's name; None without such a part."""
    match = _SCOPE.search(name)
    return int(match[1]) if match else None


def without_replica(name: str) -> str:
    """Return an op's name as the first replica's copy of the op has it."""
    return _SCOPE.sub("", name).rstrip("/")
