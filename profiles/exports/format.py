"""What an export is: a name, a file or a folder, and one function that writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from strategy_lab.profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class Format:
    """A module of this package that defines a `FORMAT` is an export; nothing else lists it."""

    name: str
    """As on the command line: `chrome-trace`."""
    title: str
    description: str
    """One sentence: who opens it, with what."""
    suffix: str
    """How the file is usually called, with its dot; empty for a folder."""
    media_type: str
    """Of the file; of the zip for a folder."""
    write: Callable[[Profile, Path], None]
    """Writes to a path that does not exist yet: a file, or a folder that it makes itself."""

    @property
    def is_folder(self) -> bool:
        return not self.suffix
