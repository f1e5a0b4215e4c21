"""A run that counts as running for as long as this process lives, and grows when told to."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Event, Launched, StepDone
from strategy_profiles.run.layout import LAUNCHER_EVENTS, worker_folder
from strategy_profiles.run.liveness import process_started_ns
from tests.synthetic import write_run
from tests.synthetic.recipe import EPOCH_NS


def begin_run(folder: Path, steps: int, **recipe: Any) -> Path:
    """Write a run without an ending whose worker is this process."""
    # Without the environment: it names another host, so this process would not count as alive.
    missing = ("launcher", "environment")
    begins_s = time.time() - EPOCH_NS / 1e9
    recipe = {"windows": 0, **recipe}
    run = write_run(folder, steps=steps, ending=None, missing=missing, begins_s=begins_s, **recipe)
    started_ns = process_started_ns(os.getpid())
    assert started_ns is not None
    write_by_launcher(run, Launched(0, 0, os.getpid(), started_ns, from_spare=False))
    return run


def write_by_launcher(run: Path, event: Event) -> None:
    log = EventLog(run / LAUNCHER_EVENTS)
    log.write(event)
    log.close()


def add_step(run: Path, step: int) -> None:
    add_event(run, StepDone(0, step, time.time_ns(), 10.0, 0.5, 256, captured=False))


def add_event(run: Path, event: Event) -> None:
    log = EventLog(worker_folder(run, 0).events)
    log.write(event)
    log.close()


def end_run(run: Path) -> None:
    """Remove the launcher's events, so that the run looks cut off."""
    (run / LAUNCHER_EVENTS).unlink()
