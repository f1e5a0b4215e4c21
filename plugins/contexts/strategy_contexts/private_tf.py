"""What the tracer needs of TensorFlow's private API, and why nothing public can give it.

`tests/plugins/contexts/test_private_tf.py` says which one is gone when TensorFlow changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from strategy_core.private_tf.availability import required

_FEATURE = "The trace of contexts"
_LIB = "tensorflow.python.distribute.distribute_lib"

UpdateContext: type = required(f"{_LIB}:UpdateContext", _FEATURE)
"""Entered around each per-device call of `extended.update`; public API tells only the call."""

ReplicaContextBase: type = required(f"{_LIB}:ReplicaContextBase", _FEATURE)
StrategyBase: type = required(f"{_LIB}:StrategyBase", _FEATURE)
StrategyExtendedV1: type = required(f"{_LIB}:StrategyExtendedV1", _FEATURE)
"""Where the public methods are defined; the public names are subclasses that inherit them."""

make_decorator: Callable[..., Any] = required(
    "tensorflow.python.util.tf_decorator:make_decorator", _FEATURE
)
"""A wrapper that AutoGraph looks through, so that a traced program is converted as without us."""

default_replica_context: Callable[[], Any] = required(
    f"{_LIB}:_get_default_replica_context", _FEATURE
)
"""What `get_replica_context()` returns where no context was entered.

`has_strategy()` cannot tell: it is also False in the replica of the default strategy's `run`.
"""

_update_replica_id = required(f"{_LIB}:get_update_replica_id", _FEATURE)
_source_mappers = required("tensorflow.python.util.tf_stack:_source_mapper_stacks", _FEATURE)


def in_update_context() -> bool:
    """Whether this thread is in update context.

    `in_cross_replica_context()` is True there, too, but not under the default strategy.
    """
    return _update_replica_id() is not None


def update_replica_id() -> int | None:
    """The replica whose component is being updated on this thread.

    None outside of update context, and under strategies that give it a device or a variable
    instead of a replica's number.
    """
    current = _update_replica_id()
    return current if isinstance(current, int) else None


SourceMap = dict[tuple[str, int], tuple[str, int, str]]


def source_map() -> SourceMap:
    """Where AutoGraph's generated lines come from, as far as this thread knows.

    AutoGraph runs generated code and keeps this map for TensorFlow's own stack traces only; a
    replica's thread starts without it.
    """
    mapper = _source_mappers[threading.get_ident()][-1]
    return {
        (place.filename, place.lineno) if hasattr(place, "filename") else tuple(place): origin
        for place, origin in mapper.get_effective_source_map().items()
    }
