"""A line of a traced program as it is, and as a remedy would have it."""

from __future__ import annotations

import msgspec


class ChangedLine(msgspec.Struct, frozen=True):
    """A line as it is and as it would be."""

    file: str
    """Its path, as it was recorded."""
    line: int
    before: str
    after: str

    @property
    def difference(self) -> str:
        """The change as a diff to read and copy."""
        name = f"{self.file.rpartition('/')[2]}:{self.line}"
        return f"{name}\n- {self.before.strip()}\n+ {self.after.strip()}"
