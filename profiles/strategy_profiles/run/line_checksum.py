"""The checksum of an event line: its last key, of the bytes before that key.

    {"kind":"note",...,"line":7,"line_crc32":"1c291ca3"}

A digit that changes on the disk leaves a valid event with another number, which no check of types
and ranges detects. Earlier versions wrote no checksum; their lines are read as they are.
"""

from __future__ import annotations

import zlib

_KEY = b'"line_crc32"'
_START = b"," + _KEY + b':"'


def sealed(line: bytes) -> bytes:
    """Return a JSON object that has fields, without spaces at its end, with its checksum."""
    body = line[:-1]
    return b'%b,"line_crc32":"%08x"}' % (body, zlib.crc32(body))


def is_sound(line: bytes) -> bool:
    """Return whether a line has the checksum of its bytes, or has none."""
    body, separator, rest = line.rpartition(_START)
    # A rewritten line has the key elsewhere.
    return rest == b'%08x"}' % zlib.crc32(body) if separator else _KEY not in line


def are_sound(lines: bytes) -> bool:
    """Return whether all of several lines are sound."""
    return all(map(is_sound, lines.split(b"\n")))
