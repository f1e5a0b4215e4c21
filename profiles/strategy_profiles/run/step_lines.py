"""Decode chunks of event lines, the in-graph timestamps of many steps at once.

A run of 100,000 steps on four replicas has 1.2 million timestamps, each of which would become a
Python object first. All have 19 digits (dates from 2001 on), so those of a chunk are digits at
fixed places of a matrix of bytes.
"""

from __future__ import annotations

import typing
from typing import Any, Union, get_args

import msgspec
import numpy as np
from msgspec import Struct

from strategy_profiles.decoders import decoder_of
from strategy_profiles.run.event_decoder import LeftOut, decode_lines
from strategy_profiles.run.events import (
    NUM_MARKS,
    Event,
    MemorySampled,
    Recorded,
    StepDone,
)
from strategy_profiles.run.field_columns import Ints
from strategy_profiles.run.line_checksum import are_sound
from strategy_profiles.run.memory_columns import MemoryColumns
from strategy_profiles.run.step_columns import StepColumns

_DIGITS = 19
_MOST_FIRST_DIGIT = 3
"""Below `limits.LARGEST` whatever the other digits are (dates until 2096)."""

_hints = typing.get_type_hints(StepDone, include_extras=True)
_StepLine = msgspec.defstruct(
    "_StepLine",
    [
        (field.name, msgspec.Raw, msgspec.Raw(b"null"))
        if field.name == "marks_ns"
        else (field.name, _hints[field.name])
        if field.required
        else (field.name, _hints[field.name], field.default)
        for field in msgspec.structs.fields(StepDone)
        if field.name not in Recorded.__struct_fields__
    ],
    bases=(Recorded,),
    kw_only=True,
    frozen=True,
    gc=False,
    tag=StepDone.__struct_config__.tag,
)
"""A `StepDone` whose marks are still text."""
_IN_COLUMNS = frozenset({StepDone, _StepLine, MemorySampled})
_LINES = decoder_of(
    Union[tuple(_StepLine if kind is StepDone else kind for kind in get_args(Event))]  # noqa: UP007
)


class Decoded(Struct, frozen=True):
    """The events of some lines."""

    others: list[Event]
    """All that are neither steps nor memory samples."""
    steps: StepColumns
    memory: MemoryColumns


def decode_chunk(chunk: bytes, left_out: LeftOut) -> Decoded:
    """Return the events in whole lines.

    Invalid lines are counted in `left_out`.
    """
    try:
        events = _LINES.decode_lines(chunk) if are_sound(chunk) else None
    except ValueError:
        events = None
    if events is None:
        return _one_by_one(chunk, left_out)
    steps: list[Any] = [event for event in events if type(event) is _StepLine]
    marks = _marks_of([step.marks_ns for step in steps])
    if marks is None:
        return _one_by_one(chunk, left_out)
    return _decoded(events, StepColumns.of(steps, marks))


def decode_others(lines: bytes) -> list[Event] | None:
    """Return the events in whole lines; None if one is invalid, a step or a memory sample.

    Their checksums are not compared.
    """
    try:
        events = _LINES.decode_lines(lines)
    except ValueError:
        return None
    return None if any(type(event) in _IN_COLUMNS for event in events) else events


def _one_by_one(chunk: bytes, left_out: LeftOut) -> Decoded:
    events = decode_lines(chunk, left_out)
    return _decoded(events, StepColumns.of([event for event in events if type(event) is StepDone]))


def _decoded(events: list[Event], steps: StepColumns) -> Decoded:
    samples = [event for event in events if type(event) is MemorySampled]
    others = [event for event in events if type(event) not in _IN_COLUMNS]
    return Decoded(others, steps, MemoryColumns.of(samples))


def _marks_of(texts: list[msgspec.Raw]) -> tuple[Ints, Ints] | None:
    """Return `num_marks` and `marks_ns` of steps with equally many marks of 19 digits each.

    Returns None for all others, valid or not.
    """
    joined, count = b"".join(texts), len(texts)
    if joined == b"null" * count:
        return np.zeros(count, np.int64), np.empty((0, NUM_MARKS), np.int64)
    length, rest = divmod(len(joined), count)
    one = b"[%s]" % b",".join([b"0" * _DIGITS] * NUM_MARKS)
    num_marks, odd = divmod(length - 1, len(one) + 1)  # with a comma or bracket each
    if rest or odd or num_marks < 1:
        return None
    form = np.frombuffer(b"[%s]" % b",".join([one] * num_marks), np.uint8)
    is_digit = form == ord("0")
    matrix = np.frombuffer(joined, np.uint8).reshape(count, length)
    digits = (matrix[:, is_digit] - ord("0")).reshape(-1, _DIGITS)
    if (matrix[:, ~is_digit] != form[~is_digit]).any() or (digits > 9).any():
        return None
    first = digits[:, 0]
    if (first < 1).any() or (first > _MOST_FIRST_DIGIT).any():
        return None
    marks_ns = np.zeros(len(digits), np.int64)
    for digit in range(_DIGITS):
        marks_ns = marks_ns * 10 + digits[:, digit]
    return np.full(count, num_marks, np.int64), marks_ns.reshape(-1, NUM_MARKS)
