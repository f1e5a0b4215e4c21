"""Read a large file a piece at a time into the same memory."""

from __future__ import annotations

import os
from typing import BinaryIO

import numpy as np

from strategy_imports.event_chain import PADDING, Chain, follow
from strategy_profiles.capture.wire import Bytes

_PIECE_BYTES = 1 << 25


class FilePieces:
    """Pieces of a file; each is in memory until the next one is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file.fileno()
        self._data = bytearray(min(_PIECE_BYTES, os.fstat(self._file).st_size) + len(PADDING))

    def events(self, begin: int, end: int) -> tuple[Bytes, Chain]:
        """Return bytes from `begin` on, and the events that follow each other there.

        Raises OSError.
        """
        size = self._read(begin, end)
        buffer = np.frombuffer(self._data, np.uint8)
        return buffer, follow(buffer, self._data, 0, size)

    def _read(self, begin: int, end: int) -> int:
        wanted = min(end - begin, len(self._data) - len(PADDING))
        view = memoryview(self._data)
        size = 0
        while size < wanted:
            read = os.preadv(self._file, [view[size:wanted]], begin + size)
            if not read:
                break  # the file was cut meanwhile
            size += read
        view[size : size + len(PADDING)] = PADDING
        return size
