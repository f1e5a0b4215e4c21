"""Runs that an agent starts, if the server allows it: one at a time, below the runs folder."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from strategy_app.live.hub import run_folder
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_core.planning.inventory import probe
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.run.new_name import in_folder, new_name
from strategy_profiles.spec.run_spec import parse_spec
from strategy_profiles.user_input.text import quoted

Json = dict[str, Any]


class Starting:
    """Starts, waits for and stops runs. The runs end with the server."""

    def __init__(self, runs: Path, launcher: Launcher) -> None:
        self._runs = runs
        self._launcher = launcher
        self._handles: dict[str, RunHandle] = {}
        self._lock = threading.Lock()

    def devices(self) -> Json:
        """The devices of this machine, which TensorFlow lists in a process of its own."""
        return probe().to_json()

    def start(self, spec: Json, name: str) -> Json:
        """Start a run from the fields of a RunSpec; raises LabError if it cannot start."""
        parsed = parse_spec(spec)
        with self._lock:
            if Path(name).name != name or name.startswith("."):
                raise SpecError(
                    f"{quoted(name)} cannot be the name of a run",
                    advice="Give the name of a folder, without a path",
                )
            self._runs.mkdir(parents=True, exist_ok=True)
            handle = in_folder(
                self._runs / name if name else None,
                lambda: self._runs / new_name(self._runs, parsed),
                lambda folder: self._launcher.launch(parsed, folder),
            )
            run = handle.folder.name
            self._handles[run] = handle
        return self.state(run)

    def wait(self, run: str, timeout_s: float) -> Json:
        """Wait until the run has ended, or `timeout_s` at most."""
        self._handle(run).wait(timeout_s)
        return self.state(run)

    def stop(self, run: str, timeout_s: float) -> Json:
        """Stop the run after the step it is in; its records stay."""
        handle = self._handle(run)
        handle.stop()
        handle.wait(timeout_s)
        return self.state(run)

    def state(self, run: str) -> Json:
        handle = self._handle(run)
        return {
            "run": run,
            "status": handle.status,
            "message": handle.message,
            "step": handle.step,
            "steps": handle.spec.steps,
        }

    def _handle(self, run: str) -> RunHandle:
        with self._lock:
            handle = self._handles.get(run)
        if handle is None:
            run_folder(self._runs, run)
            raise LabError(
                f"The run {quoted(run)} was not started by this server",
                advice="Read it with the tool summary",
            )
        return handle
