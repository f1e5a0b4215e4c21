"""Work of this server in a thread of its own, which the page looks at."""

from __future__ import annotations

import threading

from strategy_core.launcher.launcher import Launcher
from strategy_profiles.errors import LabError


class Background:
    """Makes measured runs. Attributes may be read from any thread."""

    def __init__(self, launcher: Launcher) -> None:
        self.error: str | None = None
        """Why it ended before its time."""
        self._launcher = launcher
        self._over = threading.Event()

    def begin(self, name: str) -> None:
        """Start the thread; call this once everything that `work` needs is set."""
        threading.Thread(target=self._go, name=name, daemon=True).start()

    def work(self) -> None:
        """Make the runs; raises LabError. No spare worker starts meanwhile."""
        raise NotImplementedError

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Wait until it is over; returns whether it is."""
        return self._over.wait(timeout_s)

    def _go(self) -> None:
        try:
            with self._launcher.without_spare():
                self.work()
        except LabError as error:
            self.error = str(error)
        except Exception as error:
            self.error = f"The lab could not finish this: {error!r}"
            raise
        finally:
            self._over.set()
