"""Scopes in the names of ops: `replica_1/dense/MatMul`, `rnn/while/body/_1/rnn/while/MatMul`.

tf.distribute gives the ops of a replica a scope; those of the first have none. Under other scopes
the part can stand further inside: `gradient_tape/replica_1/dense/MatMul`.

TensorFlow gives the ops of a loop a scope. The gradient of a loop is a loop, too:
`gradient_tape/rnn/while/rnn/while_grad/body/_64/...`. It counts as part of the loop that it is of.
"""

from __future__ import annotations

import re

_REPLICA = re.compile(r"(?:^|(?<=/))replica_(\d{1,5})(?:/|$)")
"""Not more digits: a number that long is a program's own name."""


def replica_in(name: str) -> int | None:
    """Return the replica whose scope is part of an op's name; None without such a part."""
    match = _REPLICA.search(name)
    return int(match[1]) if match else None


def without_replica(name: str) -> str:
    """Return an op's name as the first replica's copy of the op has it."""
    return _REPLICA.sub("", name).rstrip("/")


_OUTER = re.compile(
    r"^(?:Func/|(?:Stateful)?PartitionedCall(?:_\d+)?/|gradient_tape/|ConstantFolding/)+"
)
"""Scopes around all ops of a function that the runtime has inlined or simplified, and of
gradients."""
_ON_OTHER_DEVICE = "_cloop"
"""How the name begins of the ops that run a loop on a device other than its first."""
_LOOP = re.compile(r"(?:(?P<of>.{1,400})/(?P=of)_grad|(?P<loop>.{1,400}?))/(?:body|cond)/_\d+/")
"""The number is that of the function that the runtime inlined. Longer names would take long."""


def loop_in(name: str) -> str | None:
    """Return the outermost loop that an op belongs to, whatever the replica; None without one."""
    if "/body/_" not in name and "/cond/_" not in name:
        return None  # as most ops
    match = _LOOP.match(plain(name))
    return (match["of"] or match["loop"]) if match else None


def plain(name: str) -> str:
    """The name of an op as its function has it, whatever the replica; a gradient's without
    `gradient_tape`."""
    return _OUTER.sub("", without_replica(name.removeprefix(_ON_OTHER_DEVICE)), count=1)
