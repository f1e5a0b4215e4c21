"""Decoders and conversions to typed objects, made so that threads can share their types.

msgspec completes what it knows of a Struct or dataclass when the type is first used, and runs
Python code meanwhile. A thread that uses the type just then reads what is not there yet, and the
process ends by SIGSEGV (msgspec 0.22; the server and readers of many files have such threads). So
each type is completed under one lock, before it is used. A lock of each type's own would not do:
types share the types of their fields.
"""

from __future__ import annotations

import threading
from types import UnionType
from typing import Any, TypeVar, overload

import msgspec

Typed = TypeVar("Typed")

_completing = threading.Lock()
_complete: set[Any] = set()


@overload
def decoder_of(kind: type[Typed]) -> msgspec.json.Decoder[Typed]: ...
@overload
def decoder_of(kind: UnionType | Any) -> msgspec.json.Decoder[Any]: ...
def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return a decoder of JSON that any thread may use."""
    with _completing:
        return msgspec.json.Decoder(kind)


def converted(value: Any, kind: type[Typed]) -> Typed:
    """Return plain values as the typed object that they describe.

    Raises msgspec.ValidationError, a ValueError, if they do not fit.
    """
    if kind not in _complete:
        decoder_of(kind)
        _complete.add(kind)
    return msgspec.convert(value, kind)
