"""Lines of events as typed events (`profiles.run.events`): anyone may have written or damaged them.

A line that does not fit is left out and counted by its kind and the reason, so that readers of
events need no checks of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias, get_args

import msgspec

from strategy_lab.profiles.run.events import Event, kind_of
from strategy_lab.profiles.spec.limits import LONGEST_LINE_BYTES

LeftOut: TypeAlias = Counter[tuple[str, str]]
"""How many lines are left out, by kind of event and reason."""

_CHUNK_BYTES = 1 << 20
_MOST_NOTES = 20
_TOO_LONG = ("line", f"longer than {LONGEST_LINE_BYTES >> 20} MiB")
_NO_JSON = "not JSON: cut off or damaged"
_EVENTS = msgspec.json.Decoder(Event)
_WHERE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_NUMBER = re.compile(r"\[\d+\]")


class _Kind(msgspec.Struct):
    kind: str


_KIND = msgspec.json.Decoder(_Kind)
_KINDS = {kind_of(event) for event in get_args(Event)}


def decode(line: bytes) -> Event:
    """The event of one line; raises ValueError with the reason if it does not fit."""
    try:
        event: Event = _EVENTS.decode(line)
        return event
    except RecursionError:
        raise ValueError("nested too deeply") from None


def decode_lines(data: bytes, left_out: LeftOut) -> list[Event]:
    """The events of whole lines; those that do not fit are counted in `left_out`."""
    try:
        return _EVENTS.decode_lines(data)
    except (ValueError, RecursionError):
        return [event for line in data.split(b"\n") if (event := _fitting(line, left_out))]


def read_chunks(file: BinaryIO, left_out: LeftOut) -> Iterator[tuple[bytes, int]]:
    """The rest of a file in chunks of whole lines, each with the file's offset after it.

    The last line may lack its newline. A line longer than `limits.LONGEST_LINE_BYTES` is left out
    without being held in memory.
    """
    rest, is_too_long, offset = b"", False, file.tell()
    while block := file.read(_CHUNK_BYTES):
        offset += len(block)
        end = block.rfind(b"\n") + 1
        if not end:
            rest = b"" if is_too_long else rest + block
            if len(rest) > LONGEST_LINE_BYTES:
                rest, is_too_long = b"", True
            continue
        start = block.find(b"\n") + 1 if is_too_long else 0
        if is_too_long:
            left_out[_TOO_LONG] += 1
        yield rest + block[start:end], offset - len(block) + end
        rest, is_too_long = block[end:], False
    if is_too_long:
        left_out[_TOO_LONG] += 1
        yield b"", offset
    elif rest:
        yield rest, offset


def describe_left_out(file: str, left_out: LeftOut) -> list[str]:
    """A sentence for each kind and reason, the most frequent first."""
    notes = [
        f"{file}: {count} {'line is' if count == 1 else 'lines are'} left out ({kind}: {reason})"
        for (kind, reason), count in left_out.most_common(_MOST_NOTES)
    ]
    num_more = left_out.total() - sum(n for _, n in left_out.most_common(_MOST_NOTES))
    return notes + ([f"{file}: {num_more} more lines are left out"] if num_more else [])


def _fitting(line: bytes, left_out: LeftOut) -> Event | None:
    if not line.strip():
        return None
    try:
        return decode(line)
    except ValueError as error:
        left_out[_kind_of(line), _reason(error)] += 1
        return None


def _kind_of(line: bytes) -> str:
    """The kind of an event that does not fit; `line` if it has none that is known."""
    try:
        kind = _KIND.decode(line).kind
    except (ValueError, RecursionError):
        return "line"
    return kind if kind in _KINDS else "unknown kind"


def _reason(error: ValueError) -> str:
    """What is wrong with a line, without anything that the line itself says."""
    if not isinstance(error, msgspec.ValidationError):
        return _NO_JSON if isinstance(error, msgspec.DecodeError) else str(error)
    match = _WHERE.fullmatch(str(error))
    what, where = match.groups() if match else (str(error), None)
    if what.startswith(("Invalid value", "Invalid enum value")):
        what = "not one of its values"
    elif what.startswith("Object missing required field"):
        return what.replace("Object missing required field", "without the field")
    what = what[:1].lower() + what[1:]
    return f"`{_NUMBER.sub('', where)}`: {what}" if where else what
