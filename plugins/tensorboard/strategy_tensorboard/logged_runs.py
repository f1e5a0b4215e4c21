"""The runs below a log directory, at any depth, by their path from there."""

from __future__ import annotations

import time
import unicodedata
from collections import deque
from collections.abc import Callable
from pathlib import Path

from strategy_app.widgets.runs_folder import RunEntry, holds_run, list_runs, other_folders

MOST_FOLDERS = 5_000
"""Folders that are looked into; a log directory of more has runs that are not listed."""
FRESH_S = 5.0
"""TensorBoard asks every few seconds, of each plugin, whether it has anything to show."""


class LoggedRuns:
    """The runs below one folder; the folder is searched again at most every `FRESH_S` seconds."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = root
        self._clock = clock
        self._entries: dict[str, RunEntry] = {}
        self._searched_at: float | None = None

    def find(self) -> dict[str, RunEntry]:
        """Return the runs by their path from the root, the newest first."""
        now = self._clock()
        if self._searched_at is None or now - self._searched_at >= FRESH_S:
            self._entries, self._searched_at = _search(self.root), now
        return self._entries


def _search(root: Path) -> dict[str, RunEntry]:
    """Find runs breadth first in at most `MOST_FOLDERS` folders; `root` may be a run itself."""
    if holds_run(root):
        entries = [entry for entry in list_runs(root.parent) if entry.path == root]
    else:
        entries, left = [], deque([root])
        for _ in range(MOST_FOLDERS):
            if not left:
                break
            folder = left.popleft()
            entries += list_runs(folder)
            # A link back to a folder above would never end.
            left += [
                each
                for each in other_folders(folder)
                if _can_be_typed(each.name) and not each.is_symlink()
            ]
    newest_first = sorted(entries, key=lambda entry: (-entry.created_ns, entry.path))
    return {_name(entry, root): entry for entry in newest_first}


def _can_be_typed(name: str) -> bool:
    """Whether a name can be in an address, and in a command that somebody copies: bytes that are no
    text cannot, and a control character would steer the terminal."""
    return not any(unicodedata.category(char) in ("Cc", "Cs") for char in name)


def _name(entry: RunEntry, root: Path) -> str:
    return entry.name if entry.path == root else entry.path.relative_to(root).as_posix()
