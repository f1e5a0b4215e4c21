"""Reads a recording of contexts from a run folder, with types and limits.

What the stepper gets is checked here, once. The fields are those of
`strategy_contexts.record.Recording` and of the trace in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from strategy_profiles.decoders import decoder_of
from strategy_profiles.errors import RunFolderError
from strategy_profiles.guards import read_file

MOST_BYTES = 64 << 20
"""A recording of 100,000 entries has about 50 MB."""
_Number = Annotated[int, Meta(ge=-(2**53), le=2**53)]
_Replica = Annotated[int, Meta(ge=0, le=65_535)] | None


class _Component(msgspec.Struct):
    device: str
    shape: list[_Number | None] | None
    dtype: str
    replica: _Replica = None
    value: Any = None
    reason: str | None = None


class _Value(msgspec.Struct):
    kind: str
    locality: str
    components: list[_Component] = []
    name: str | None = None
    text: str | None = None
    items: list[tuple[str, _Value]] = []


class _Line(msgspec.Struct):
    file: str
    line: _Number
    function: str


class _Entry(msgspec.Struct):
    seq: _Number
    context: str
    replica: _Replica
    call: str
    source: _Line
    parent: _Number | None
    phase: str
    switch: bool
    depth: _Number = 0
    thread: str = ""
    strategy: str = ""
    values_in: list[tuple[str, _Value]] = []
    value_out: _Value | None = None
    end_seq: _Number | None = None
    error: str | None = None


class _Printed(msgspec.Struct, omit_defaults=True):
    seq: _Number
    text: str
    parent: _Number | None
    context: str | msgspec.UnsetType = msgspec.UNSET
    """Not in recordings of versions before it was recorded."""
    replica: _Replica | msgspec.UnsetType = msgspec.UNSET


class _Trace(msgspec.Struct):
    entries: list[_Entry]
    printed: list[_Printed]


class _Failure(msgspec.Struct):
    type: str
    message: str
    line: _Number | None
    explanation: dict[str, Any] | None


class _Recording(msgspec.Struct):
    title: str
    text: str
    source: str
    file: str
    devices: list[str]
    trace: _Trace
    error: _Failure | None = None
    tensorflow: str = ""


_DECODER = decoder_of(_Recording)


def read_recording(path: Path) -> dict[str, Any]:
    """Return a recording as `page` takes it. Raises RunFolderError if the file is not one."""
    try:
        read = _DECODER.decode(read_file(path, MOST_BYTES))
    except OSError as error:
        raise RunFolderError(f"{path.name} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RunFolderError(f"{path.name} is not a recording of contexts: {error}") from None
    fields: dict[str, Any] = msgspec.to_builtins(read)
    return fields
