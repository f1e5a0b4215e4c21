"""Unpack a gzip file next to nothing else: a temporary file that is gone afterwards.

The file is locked while it is used. That of a killed process is not, and the next lab that starts
removes it.
"""

from __future__ import annotations

import fcntl
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from strategy_profiles.guards import open_file

_MAGIC = b"\x1f\x8b"
_PIECE_BYTES = 1 << 20
_READ_BYTES = 1 << 14
"""Each part of a gzip file copies the rest of what was read with it."""
MOST_BYTES = 16 << 30
"""A file that unpacks to more is cut here: a few kB of gzip can hold terabytes."""
MOST_TIMES, NO_BOMB_BYTES = 200, 64 << 20
"""So is one that unpacks to more than so many times its size, and to more than so many bytes.
Recorded profiles unpack to 5 to 30 times their size, zeros to 1,000 times."""
MOST_PARTS = 1 << 20
"""A part of 20 bytes may hold nothing, and takes microseconds."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A file as it was packed; `problem` says what could not be unpacked."""

    path: Path
    problem: str | None = None


@contextmanager
def unpacked(path: Path, most_bytes: int = MOST_BYTES) -> Iterator[Unpacked]:
    """Yield the unpacked file, or `path` itself if it is not packed. Raises OSError."""
    if not is_packed(path):
        yield Unpacked(path)
        return
    with tempfile.NamedTemporaryFile(prefix="strategy-lab-import-") as target:
        fcntl.flock(target, fcntl.LOCK_SH)
        problem = _unpack(path, target, most_bytes)
        target.flush()
        yield Unpacked(Path(target.name), problem)


def is_packed(path: Path) -> bool:
    """Return whether a file begins as gzip does. Raises OSError."""
    with open_file(path) as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _unpack(path: Path, target: IO[bytes], most_bytes: int) -> str | None:
    """Write what can be unpacked; Python's `gzip` returns nothing of a piece that is cut."""
    written, num_parts = 0, 1
    most_here = max(NO_BOMB_BYTES, MOST_TIMES * path.stat().st_size)
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    with open_file(path) as file:
        packed = file.read(_READ_BYTES)
        while packed:
            try:
                piece = unpacker.decompress(packed, _PIECE_BYTES)
            except zlib.error as error:
                return f"The gzip file is damaged after {written:,} unpacked bytes: {error}"
            written += target.write(piece)
            if written > most_bytes:
                return f"Only the first {most_bytes >> 30} GiB that the gzip file holds are read"
            if written > most_here:
                return (
                    f"Only the first {written >> 20} MiB that the gzip file holds are read: it "
                    f"unpacks to more than {MOST_TIMES} times its size, as no profile does"
                )
            packed = unpacker.unconsumed_tail or unpacker.unused_data
            if unpacker.eof and packed:  # another part follows
                if num_parts == MOST_PARTS:
                    return f"Only the first {MOST_PARTS:,} parts of the gzip file are read"
                num_parts += 1
                unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
            packed = packed or file.read(_READ_BYTES)
    return None if unpacker.eof else f"The gzip file is cut off after {written:,} unpacked bytes"
