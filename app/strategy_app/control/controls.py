"""How a running run is controlled: by its handle here, or through its folder from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strategy_app.live.live_run import LiveRun
from strategy_core.launcher.launcher import RunHandle
from strategy_profiles.run.command_mailbox import leave_command, why_unheard


class HostedControls:
    """Controls a run with one launcher per host, through commands in the run's folder.

    Commands raise LabError if the folder takes none.
    """

    def __init__(self, live: LiveRun) -> None:
        self._live = live

    @property
    def folder(self) -> Path:
        return self._live.folder

    @property
    def step(self) -> int | None:
        return self._live.last_step

    def reconfigure(self, changes: Mapping[str, Any]) -> int:
        return leave_command(self.folder, "reconfigure", changes)

    def stop(self) -> int:
        return leave_command(self.folder, "stop")


Controls = RunHandle | HostedControls
"""Commands to a run. Each returns at once the number of its `answer` event."""


def controls_of(live: LiveRun, handle: RunHandle | None) -> Controls | None:
    """Return the controls of a run; None if the run is over or takes no commands from here."""
    if handle is not None:
        return None if handle.is_over else handle
    if live.status.is_over or why_unheard(live.folder) is not None:
        return None
    return HostedControls(live)
