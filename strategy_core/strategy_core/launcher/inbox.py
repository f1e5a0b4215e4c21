"""What the thread of a run receives: messages of its workers, and requests of callers."""

from __future__ import annotations

import queue
from dataclasses import dataclass
from typing import Any

from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.processes import protocol


@dataclass(frozen=True, slots=True)
class KillRun:
    """End the run by force."""


@dataclass(frozen=True, slots=True)
class KillProcess:
    """Kill one process of a cluster."""

    number: int


Request = protocol.Command | KillRun | KillProcess
Inbox = queue.Queue[tuple[WorkerMonitor | None, Any]]
"""Each message with the worker that sent it; None for a `Request` of a caller."""
