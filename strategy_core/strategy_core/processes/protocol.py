"""The protocol of launcher and worker: one JSON object per line in each direction.

Commands go to the worker's stdin; answers to them are `answer` events in the run folder. The few
messages a worker sends on its stdout are for the launcher alone:

    {"ready": true, "inventory": {...}}                         TensorFlow is imported
    {"joined": true}                         TensorFlow has connected the cluster
    {"opened": true, "step": 20}                                the run's first step is done
    {"replace": {"number": 4, ...}}                             see Replacement
    {"failed": {"message": ..., "detail": ..., "follows": false}}
                                             the same as the event, which a full disk loses;
                                             `follows`: the error is a consequence of a peer's end
    {"done": true}                           it can leave at any time, and waits for `leave`

A worker that asked for its replacement keeps its state and waits: `leave` ends it once the fresh
worker has done a step, `resume` lets it go on without the change.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Run:
    """Open this run (from a checkpoint if `resume` names one) and do its steps."""

    command: ClassVar[str] = "run"
    number: int
    run: str
    worker: int
    generation: int
    spec: dict[str, Any]
    resume: str | None = None
    asked: dict[str, Any] | None = None
    """The Replacement that this worker is the answer to."""
    cluster: list[dict[str, Any]] | None = None
    """The tasks of the run's cluster by process number, `worker` being this one's; None where one
    process is the whole run."""
    has_own_launcher: bool = False
    """Whether peers have other launchers, which do not get the commands of this one."""


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """Change the run at the next step boundary; `changes` are dotted RunSpec paths."""

    command: ClassVar[str] = "reconfigure"
    number: int
    changes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stop:
    """Write the last records at the next step boundary and end."""

    command: ClassVar[str] = "stop"
    number: int
    why: str | None = None
    """The reason that the run records for its end; None if its user asked for the stop."""


@dataclass(frozen=True, slots=True)
class Leave:
    """A fresh worker has taken over, or all workers of a cluster are done: end."""

    command: ClassVar[str] = "leave"
    number: int


@dataclass(frozen=True, slots=True)
class Resume:
    """No fresh worker could take over: reject the change with this message and go on."""

    command: ClassVar[str] = "resume"
    number: int
    message: str


Command = Run | Reconfigure | Stop | Leave | Resume
_COMMANDS: dict[str, type[Command]] = {
    kind.command: kind for kind in (Run, Reconfigure, Stop, Leave, Resume)
}


@dataclass(frozen=True, slots=True)
class Replacement:
    """A worker requests a fresh one: a change needs devices that it cannot have."""

    number: int
    """Number of the command; 0 for a scripted change."""
    step: int
    spec: dict[str, Any]
    """The spec with the change made."""
    checkpoint: str
    asked_ns: int
    """Wall clock when the worker began the change."""


EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_REFUSED = 2
"""The request was invalid; nothing ran."""
EXIT_OUT_OF_MEMORY = 12
"""The worker reported it itself."""


def command_line(command: Command) -> bytes:
    return json.dumps({"command": command.command, **asdict(command)}).encode() + b"\n"


def parse_command(line: bytes | str) -> Command | None:
    """The command in a line; None if this version knows no such command."""
    fields = parse_line(line)
    kind = _COMMANDS.get(fields.pop("command", ""))
    try:
        return kind(**fields) if kind else None
    except TypeError:
        return None


def message_line(message: dict[str, Any]) -> str:
    """A worker's message to its launcher."""
    return json.dumps(message, default=str) + "\n"


def parse_line(line: bytes | str) -> dict[str, Any]:
    """A line as a mapping; empty if the line is not a JSON object."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
