"""One row of the account."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Source = Literal["measured", "sampled", "derived", "rest"]


class Row(Struct, frozen=True):
    """A part of the time of the thread that trains. The children of a row add up to it."""

    row: str
    """Path of the row: `loop/between/validation`."""
    kind: str
    """As in `kinds.KINDS`."""
    total_ms: float
    source: Source
    num_samples: int | None = None
    """Of a sampled row: how many samples it rests on."""
    num_times: int | None = None
    """After how many steps it was seen, of a row between steps."""
    file: str | None = None
    line: int | None = None
    text: str | None = None
    """The line itself."""
    call: str | None = None
    """Function that the line called, or the class of a callback."""
    op: str | None = None
    layer: str | None = None

    @property
    def parent(self) -> str:
        return self.row.rpartition("/")[0]

    @property
    def place(self) -> str | None:
        """`train.py:12`; None if the row has no line."""
        if self.file is None or self.line is None:
            return None
        return f"{self.file.rpartition('/')[2]}:{self.line}"
