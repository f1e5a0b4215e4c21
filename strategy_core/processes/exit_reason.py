"""Why a worker ended, derived from all evidence: a pure function with one sentence as result."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

from strategy_core.processes import protocol

KillReason = Literal["hung", "asked", "impatient", "peer", "absent"]
"""Why the launcher sent SIGKILL. `impatient`: Stop was not obeyed in time. `peer`: another process
of the run was lost. `absent`: another process never started."""


@dataclass(frozen=True, slots=True)
class ExitEvidence:
    """What is known of a worker that has ended."""

    exit_code: int | None
    """As `subprocess` has it: negative for a signal."""
    finished: str | None = None
    """Status of its `finished` event."""
    failed: str | None = None
    """Message of its `failed` event."""
    replaced: bool = False
    killed_for: KillReason | None = None
    kill_note: str = ""
    """What the launcher observed when it decided to kill."""
    out_of_memory: bool = False
    memory_note: str = ""
    stderr: str = ""
    """See `stderr_summary`."""
    last_step: int | None = None
    serves: bool = False
    """Whether the process executed what a coordinator sent, so that it counted no steps."""


@dataclass(frozen=True, slots=True)
class ExitReason:
    """The verdict of an `exited` event, and its message."""

    verdict: str
    message: str | None = None


def exit_reason(ending: ExitEvidence) -> ExitReason:
    """Why the worker ended. What it reported itself counts first."""
    if ending.replaced or ending.finished is not None:
        return ExitReason("replaced" if ending.replaced else str(ending.finished))
    if ending.exit_code == protocol.EXIT_OUT_OF_MEMORY:
        return ExitReason("out-of-memory", ending.failed or "The worker ran out of memory.")
    if ending.failed is not None:
        return ExitReason("failed", ending.failed)
    if ending.killed_for is not None:
        return _killed_here(ending)
    if ending.exit_code is not None and ending.exit_code < 0:
        return _killed_by_signal(ending, -ending.exit_code)
    return ExitReason("crashed", _sentence(f"The worker left with code {ending.exit_code}", ending))


def _killed_here(ending: ExitEvidence) -> ExitReason:
    if ending.killed_for == "hung":
        return ExitReason("hung", _where(ending.kill_note, ending))
    if ending.killed_for == "impatient":
        return ExitReason("stopped", _where(ending.kill_note, ending))
    if ending.killed_for == "absent":
        return ExitReason("failed", ending.kill_note)
    if ending.killed_for == "peer":
        return ExitReason("hung", _where("It did not take part while its peers waited.", ending))
    return ExitReason("killed", _where("Killed on request.", ending))


def _killed_by_signal(ending: ExitEvidence, number: int) -> ExitReason:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number == signal.SIGKILL and ending.out_of_memory:
        what = f"The worker ran out of memory and was killed (SIGKILL). {ending.memory_note}"
        return ExitReason("out-of-memory", _where(what, ending))
    if number == signal.SIGKILL:
        what = f"Something outside the lab killed the worker (SIGKILL). {ending.memory_note}"
        return ExitReason("killed", _where(what.strip(), ending))
    if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        what = f"The worker was ended by {name}, sent from outside the lab."
        return ExitReason("killed", _where(what, ending))
    return ExitReason("crashed", _sentence(f"The worker crashed with {name}", ending))


def _sentence(what: str, ending: ExitEvidence) -> str:
    if ending.stderr:
        return f"{_where(what + '.', ending)} The end of its error output: {ending.stderr}"
    return _where(f"{what} without any output.", ending)


def _where(what: str, ending: ExitEvidence) -> str:
    if ending.serves and ending.last_step is None:
        return what
    if ending.last_step is None:
        return f"{what} It had not finished a step."
    return f"{what} Its last step was {ending.last_step}."
