"""One loaded profile for every reader of a case, as the page has it; sound runs are loaded once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import strategy_profiles


class Loads:
    """Replaces `strategy_profiles.load` within `shared`."""

    def __init__(self) -> None:
        self._load = strategy_profiles.load
        self._sound: dict[Path, strategy_profiles.Profile] = {}
        self._damaged: dict[Path, strategy_profiles.Profile] = {}

    def keep(self, run: Path) -> None:
        """Load a sound run for all cases."""
        self._sound[run] = self._load(run)

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Load each run only once in the block. A run that cannot be loaded is tried again."""
        try:
            with mock.patch.object(strategy_profiles, "load", self._once):
                yield
        finally:
            self._damaged.clear()

    def _once(self, path: str | Path) -> strategy_profiles.Profile:
        run = Path(path)
        if run in self._sound:
            return self._sound[run]
        if run not in self._damaged:
            self._damaged[run] = self._load(run)
        return self._damaged[run]
