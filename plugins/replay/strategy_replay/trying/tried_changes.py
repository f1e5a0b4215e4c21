"""Changes of runs that this server tries: a thread each, which the page looks at."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strategy_app.server.background import Background
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_core.launcher.repetition import Outcome, Repetition
from strategy_core.planning.validation import CheckedSpec
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import RunSpec
from strategy_replay.trying.agreement import Agreement
from strategy_replay.trying.tried_change import TriedChange, check_end

Launch = Callable[[CheckedSpec, str], RunHandle]
MOST_KEPT = 20
_LOOK_EVERY_S = 0.1


class _CancelledError(Exception):
    """The person ended it between two runs."""


class TryingOut(Background):
    """One change while it is tried, and its result."""

    def __init__(self, tried: TriedChange, launch: Launch, launcher: Launcher) -> None:
        super().__init__(launcher)
        self.tried = tried
        self.num_done = 0
        """Runs that are over."""
        self.side = ""
        """Which side runs now: `a` without the change, `b` with it."""
        self.agreement: Agreement | None = None
        self.outcome: Outcome | None = None
        self._launch = launch
        self._handle: RunHandle | None = None
        self._cancelled = threading.Event()
        self.begin(f"try {tried.plan.folder.name}")

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def step(self) -> int:
        """Steps done by the current run."""
        handle = self._handle
        step = handle.step if handle is not None else None
        return 0 if step is None else step + 1

    @property
    def num_steps(self) -> int:
        """Steps of each run."""
        return self.tried.plan.spec("a").steps or 0

    @property
    def share(self) -> float:
        """How much of all steps is done, 0 to 1."""
        of_run = min(self.step / self.num_steps, 1.0) if self.num_steps else 0.0
        return min((self.num_done + of_run) / self.tried.num_runs, 1.0)

    def cancel(self) -> None:
        """End it: the current run after its step, the others are not started."""
        self._cancelled.set()

    def work(self) -> None:
        with contextlib.suppress(_CancelledError):
            self.outcome = Repetition(self.tried.plan, self._record).go(self.tried.num_pairs)
            if not self.is_cancelled:
                self.agreement = self.tried.agreement(self.outcome)

    def _record(self, spec: RunSpec, folder: Path) -> None:
        if self.is_cancelled:
            raise _CancelledError
        self.side = "a" if spec == self.tried.plan.spec("a") else "b"
        handle = self._handle = self._launch(self.tried.launched(spec), folder.name)
        is_asked = False
        while not handle.wait(_LOOK_EVERY_S):
            if self.is_cancelled and not is_asked:
                is_asked = True
                handle.stop()
        self._handle = None
        self.num_done += 1
        check_end(handle)


@dataclass
class TriedChanges:
    """Those of this server, the newest last."""

    _known: dict[tuple[str, int, str], TryingOut] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, tried: TriedChange, launch: Launch, launcher: Launcher) -> TryingOut:
        """Start trying a change; raises LabError if another one is being tried."""
        with self._lock:
            busy = self.active
            if busy is not None:
                raise LabError(
                    f"A change of {busy.tried.run} is being tried ({busy.tried.title})",
                    advice="Wait until it ends, or cancel it on that run's page",
                )
            key = _key(tried.run, tried.segment, tried.changes)
            self._known.pop(key, None)
            begun = self._known[key] = TryingOut(tried, launch, launcher)
            for oldest in list(self._known)[:-MOST_KEPT]:
                del self._known[oldest]
            return begun

    def find(self, run: str, segment: int, changes: Mapping[str, Any]) -> TryingOut | None:
        """Return the last trial of a change, over or not."""
        return self._known.get(_key(run, segment, changes))

    @property
    def active(self) -> TryingOut | None:
        """The one that is not over."""
        return next((each for each in list(self._known.values()) if not each.is_over), None)

    def close(self) -> None:
        """End all; their runs end with the launcher."""
        for each in list(self._known.values()):
            each.cancel()


def _key(run: str, segment: int, changes: Mapping[str, Any]) -> tuple[str, int, str]:
    return run, segment, json.dumps(changes, sort_keys=True)
