"""Decode lines to typed events (`strategy_profiles.run.events`), without trust in their contents.

A line that is not a valid event is left out and counted by kind and reason, so that readers of
events need no checks of their own.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias, get_args

import msgspec

from strategy_profiles.decoders import decoder_of
from strategy_profiles.run.events import Event, kind_of
from strategy_profiles.run.line_checksum import are_sound, is_sound
from strategy_profiles.spec.limits import LONGEST_LINE_BYTES

LeftOut: TypeAlias = Counter[tuple[str, str]]
"""The number of lines left out, by kind of event and reason."""

_CHUNK_BYTES = 1 << 20
_MOST_NOTES = 20
_TOO_LONG = ("line", f"longer than {LONGEST_LINE_BYTES >> 20} MiB")
_MOST_SKIPPED_BYTES = 1 << 28
_GIVEN_UP = ("line", f"longer than {_MOST_SKIPPED_BYTES >> 20} MiB: nothing behind it is read")
_NO_JSON = "not JSON: cut off or damaged"
_EVENTS = decoder_of(Event)
_WHERE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_NUMBER = re.compile(r"\[\d+\]")


class _Kind(msgspec.Struct):
    kind: str


_KIND = decoder_of(_Kind)
_KINDS = {kind_of(event) for event in get_args(Event)}


def decode(line: bytes) -> Event:
    """Decode one line. Raises ValueError with the reason if it is not a valid event."""
    event: Event = _EVENTS.decode(line)
    if not is_sound(line):
        raise ValueError("damaged: its checksum does not fit")
    return event


def decode_lines(data: bytes, left_out: LeftOut) -> list[Event]:
    """Decode whole lines; invalid ones are counted in `left_out`."""
    try:
        if are_sound(data):
            return _EVENTS.decode_lines(data)
    except ValueError:
        pass
    return [event for line in data.split(b"\n") if (event := _fitting(line, left_out))]


def read_chunks(file: BinaryIO, left_out: LeftOut) -> Iterator[tuple[bytes, int]]:
    """Yield the rest of a file in chunks of whole lines, each with the file's offset after it.

    The last line may lack its newline. A line longer than `limits.LONGEST_LINE_BYTES` is left out
    without being held in memory. Reading stops at a line of more than 256 MiB, as in a damaged
    sparse file: terabytes of zeros use no disk space but would take hours to read.
    """
    rest, num_skipped, offset = b"", 0, file.tell()
    while block := file.read(_CHUNK_BYTES):
        offset += len(block)
        end = block.rfind(b"\n") + 1
        if not end:
            rest = b"" if num_skipped else rest + block
            if num_skipped or len(rest) > LONGEST_LINE_BYTES:
                num_skipped += len(rest) or len(block)
                rest = b""
            if num_skipped > _MOST_SKIPPED_BYTES:
                left_out[_GIVEN_UP] += 1
                yield b"", file.seek(0, os.SEEK_END)
                return
            continue
        start = block.find(b"\n") + 1 if num_skipped else 0
        if num_skipped:
            left_out[_TOO_LONG] += 1
        yield rest + block[start:end], offset - len(block) + end
        rest, num_skipped = block[end:], 0
    if num_skipped:
        left_out[_TOO_LONG] += 1
        yield b"", offset
    elif rest:
        yield rest, offset


def describe_left_out(
    file: str, left_out: LeftOut, num_missing: int = 0, num_misplaced: int = 0
) -> list[str]:
    """Return a sentence for each kind and reason, the most frequent first."""
    gone = "1 line is" if num_missing == 1 else f"{num_missing:,} lines are"
    missing = [f"{file}: {gone} missing: what it recorded there is unknown"] if num_missing else []
    if num_misplaced:
        stood = "1 line stood" if num_misplaced == 1 else f"{num_misplaced:,} lines stood"
        missing.append(f"{file}: {stood} behind a later one; read in the order of their numbers")
    notes = [
        f"{file}: {count} {'line is' if count == 1 else 'lines are'} left out ({kind}: {reason})"
        for (kind, reason), count in left_out.most_common(_MOST_NOTES)
    ]
    num_more = left_out.total() - sum(n for _, n in left_out.most_common(_MOST_NOTES))
    return missing + notes + ([f"{file}: {num_more} more lines are left out"] if num_more else [])


def _fitting(line: bytes, left_out: LeftOut) -> Event | None:
    if not line.strip():
        return None
    try:
        return decode(line)
    except ValueError as error:
        left_out[_kind_of(line), _reason(error)] += 1
        return None


def _kind_of(line: bytes) -> str:
    """Return the kind of an invalid event, `unknown kind`, or `line` if it has none."""
    try:
        kind = _KIND.decode(line).kind
    except ValueError:
        return "line"
    return kind if kind in _KINDS else "unknown kind"


def _reason(error: ValueError) -> str:
    """Return what is wrong with a line, without quoting its contents."""
    if not isinstance(error, msgspec.ValidationError):
        is_no_json = isinstance(error, (msgspec.DecodeError, UnicodeDecodeError))
        return _NO_JSON if is_no_json else str(error)
    match = _WHERE.fullmatch(str(error))
    what, where = match.groups() if match else (str(error), None)
    if what.startswith(("Invalid value", "Invalid enum value")):
        what = "not one of its values"
    elif what.startswith("Object missing required field"):
        return what.replace("Object missing required field", "without the field")
    what = what[:1].lower() + what[1:]
    return f"`{_NUMBER.sub('', where)}`: {what}" if where else what
