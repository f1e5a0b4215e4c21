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
from typing import Any, Generic, TypeVar, overload

import msgspec

Typed = TypeVar("Typed")
TOO_DEEP = "nested too deeply"

_completing = threading.Lock()
_complete: set[Any] = set()


class Decoder(Generic[Typed]):
    """A decoder of JSON that any thread may use. JSON that is nested too deeply is a ValueError,
    as all that does not fit."""

    def __init__(self, kind: Any) -> None:
        with _completing:
            self._own: msgspec.json.Decoder[Typed] = msgspec.json.Decoder(kind)

    def decode(self, data: bytes | str) -> Typed:
        """Return the object that a text describes."""
        try:
            return self._own.decode(data)
        except RecursionError:
            raise ValueError(TOO_DEEP) from None

    def decode_lines(self, data: bytes | str) -> list[Typed]:
        """Return the objects that lines describe."""
        try:
            return self._own.decode_lines(data)
        except RecursionError:
            raise ValueError(TOO_DEEP) from None


@overload
def decoder_of(kind: type[Typed]) -> Decoder[Typed]: ...
@overload
def decoder_of(kind: UnionType | Any) -> Decoder[Any]: ...
def decoder_of(kind: Any) -> Decoder[Any]:
    """Return the decoder for a type."""
    return Decoder(kind)


def converted(value: Any, kind: type[Typed]) -> Typed:
    """Return plain values as the typed object that they describe.

    Raises msgspec.ValidationError, a ValueError, if they do not fit.
    """
    if kind not in _complete:
        decoder_of(kind)
        _complete.add(kind)
    return msgspec.convert(value, kind)
