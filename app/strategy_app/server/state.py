"""What the page and the routes share, once per server process: runs folder, hub, launcher."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from strategy_app.access.policy import Access
from strategy_app.live.hub import Hub
from strategy_app.live.live_run import LiveRun
from strategy_app.server.timelines import Timelines
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_core.planning.validation import CheckedSpec
from strategy_core.processes import scratch
from strategy_profiles.run.remove import finish_removals
from strategy_profiles.spec.run_spec import RunSpec

LOCAL = Access()
_ANCHOR = "_strategy_lab_state"
WORKER_NICE = 1
"""Workers run at a slightly lower priority than the server: see docs/decisions/processes.md."""
MAX_REMEMBERED = 50
"""Runs that are over whose handles are kept, and runs whose commands are."""
STOPPED = "The lab was stopped, and the run with it."
HOST_ONLY = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "")
"""What every machine has, until TensorFlow has said more."""


class Part(Protocol):
    """What a package keeps beside the lab."""

    def close(self) -> None:
        """Called when the server stops, before its runs are stopped."""


PartT = TypeVar("PartT", bound=Part)


@dataclass
class Lab:
    """One server's working parts."""

    runs: Path
    hub: Hub
    timelines: Timelines
    access: Access = LOCAL
    """Who may use it, and from where."""
    spare: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    """The values of the options that packages add to `strategy-lab ui`, by name."""
    handles: dict[str, RunHandle] = field(default_factory=dict)
    """Runs that this server launched, by name; only these can be stopped and changed from it."""
    _parts: dict[type[Any], Part] = field(default_factory=dict)
    _sent: dict[tuple[str, str | None], dict[int, str]] = field(default_factory=dict)
    _launcher: Launcher | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> None:
        """Called once the server runs: the spare worker begins to import TensorFlow."""
        self.runs.mkdir(parents=True, exist_ok=True)
        _ = self.launcher
        # What pages that were killed have left; they could not.
        threading.Thread(target=scratch.remove_abandoned, name="scratch", daemon=True).start()
        threading.Thread(target=finish_removals, args=(self.runs,), daemon=True).start()

    def close(self, give_up: Callable[[], bool] = lambda: False) -> None:
        """Called when the server stops; stops every run that it launched, with its state saved.

        `give_up` says whether to end them at once instead.
        """
        for each in self._parts.values():
            each.close()
        if self._launcher is not None:
            self._launcher.stop_runs(STOPPED, give_up)
        self.hub.close()
        if self._launcher is not None:
            self._launcher.close()

    def part(self, kind: type[PartT]) -> PartT:
        """The one object of this class, made on first use and closed with the lab."""
        with self._lock:
            part = self._parts.get(kind) or kind()
            self._parts[kind] = part
        return cast(PartT, part)

    @property
    def launcher(self) -> Launcher:
        """The one launcher, made on first use."""
        with self._lock:
            if self._launcher is None:
                self._launcher = Launcher(spare=self.spare, nice=WORKER_NICE)
            return self._launcher

    def inventory(self) -> Inventory | None:
        """The devices of this machine; None until TensorFlow has named them."""
        return self.launcher.inventory()

    def launch(
        self, spec: RunSpec | CheckedSpec, name: str, checkpoint: Path | None = None
    ) -> RunHandle:
        """Start a run, from a checkpoint if one is given, and keep its handle; raises LabError."""
        handle = self.handles[name] = self.launcher.launch(spec, self.runs / name, checkpoint)
        over = [each for each, kept in self.handles.items() if kept.is_over]
        for oldest in over[:-MAX_REMEMBERED]:
            del self.handles[oldest]
        return handle

    def sent_to(self, live: LiveRun) -> dict[int, str]:
        """The commands that were sent to a run, by number, in words; new ones go there, too."""
        sent = self._sent.setdefault((live.folder.name, live.identity), {})
        for oldest in list(self._sent)[:-MAX_REMEMBERED]:
            del self._sent[oldest]
        return sent

    def active_run(self) -> str | None:
        """Name of a run of this server that is not over."""
        return next((handle.folder.name for handle in self.launcher.active), None)


def configure(
    runs: Path,
    *,
    access: Access = LOCAL,
    spare: bool = False,
    launcher: Launcher | None = None,
    options: Mapping[str, Any] | None = None,
) -> Lab:
    """Make the lab of this process; called by the server before anything else."""
    runs = runs.resolve()
    lab = Lab(
        runs,
        Hub(runs),
        Timelines(runs),
        access=access,
        spare=spare,
        options=options or {},
        _launcher=launcher,
    )
    # On `sys`, not in this module: a second import of this module must find the same lab.
    setattr(sys, _ANCHOR, lab)
    return lab


def lab() -> Lab:
    """The lab of this process; made for `./runs` where no server made one."""
    existing = getattr(sys, _ANCHOR, None)
    return existing if existing is not None else configure(Path("runs"))
