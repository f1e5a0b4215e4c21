"""Sweeps that this server runs: a thread for the one at a time, which the page looks at."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from strategy_app.server.background import Background
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.errors import LabError
from strategy_sweep.record import Sweep
from strategy_sweep.sweeping import Launch, Sweeping, keep_name


class RunningSweep(Background):
    """A sweep while its runs are made."""

    def __init__(self, sweep: Sweep, runs: Path, launch: Launch, launcher: Launcher) -> None:
        super().__init__(launcher)
        self.sweeping = Sweeping(sweep, runs, launch)
        self.begin(sweep.name)

    @property
    def name(self) -> str:
        return self.sweeping.sweep.name

    def work(self) -> None:
        self.sweeping.go()


@dataclass
class Sweeps:
    """The last sweep of this server. Every sweep is in its file, which the page reads."""

    last: RunningSweep | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(
        self, sweep: Sweep, runs: Path, launch: Launch, launcher: Launcher, *, is_new: bool
    ) -> str:
        """Make the missing runs of a sweep; raises LabError if another one is being made.

        Returns its name: a new one has another number if its own was taken since it was planned.
        """
        with self._lock:
            if self.active is not None:
                raise LabError(
                    f"{self.active.name} is running", advice="Wait until it ends, or cancel it"
                )
            if is_new:
                sweep = keep_name(sweep, runs)
            self.last = RunningSweep(sweep, runs, launch, launcher)
            return sweep.name

    def find(self, name: str) -> RunningSweep | None:
        """Return the sweep of this name if it was the last one."""
        return self.last if self.last is not None and self.last.name == name else None

    @property
    def active(self) -> RunningSweep | None:
        """The one that is not over."""
        return None if self.last is None or self.last.is_over else self.last

    def close(self) -> None:
        """Cancel it; its run ends with the launcher."""
        if self.last is not None:
            self.last.sweeping.cancel()
