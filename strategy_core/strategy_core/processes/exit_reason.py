"""Why a worker ended, derived from all evidence: a pure function with one sentence as result."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import Literal

from strategy_core.processes import protocol

KillReason = Literal["hung", "asked", "impatient", "peer", "absent", "closing"]
"""Why the launcher sent SIGKILL. `impatient`: Stop was not obeyed in time. `closing`: the launcher
ends, and the run has done no step yet. `peer`:
another process of the run was lost. `absent`: another process never started."""


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
        return ExitReason("stopped", _where(ending.kill_note or "It did not end in time.", ending))
    if ending.killed_for == "closing":
        return ExitReason("stopped", ending.kill_note)
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


_NOISE = re.compile(r"Extension modules:|\*\*\* |@ +0x|[IW]\d{4} |\s*$")
_FATAL = re.compile(r"Fatal Python error")
_FRAME = re.compile(r'File "(.+)", line (\d+)')
_CURRENT = re.compile(r"Current thread")
_NUM_LINES = 3
_MAX_LINE = 300


def stderr_summary(stderr: str) -> str:
    """One line: the last output, the error and its place; empty if there was no output.

    A crash in C++ leaves hundreds of lines: its own last line, a native stack, Python's stack of
    every thread, the list of every extension module. An exception leaves a traceback.
    """
    lines = [line.strip() for line in stderr.splitlines()]
    lines = [line for line in lines if not _NOISE.match(line)]
    fatal = next((i for i in reversed(range(len(lines))) if _FATAL.match(lines[i])), None)
    if fatal is None:
        return "; ".join(line[:_MAX_LINE] for line in lines[-_NUM_LINES:])
    fatal_lines = lines[max(0, fatal - 1) : fatal + 1]
    place = _innermost_frame(lines[fatal + 1 :])
    return "; ".join(line[:_MAX_LINE] for line in (*fatal_lines, *place))


def _innermost_frame(dump: list[str]) -> list[str]:
    """Return the crashed thread's innermost frame, out of Python's dump of all threads, if any."""
    current = next((i for i, line in enumerate(dump) if _CURRENT.match(line)), None)
    if current is None:
        return []
    frames = filter(None, map(_FRAME.search, dump[current + 1 :]))
    return [f"in {frame[1]}, line {frame[2]}" for frame in frames][:1]
