"""Send commands through files in the run's folder: to a launcher on another host, or a program.

The launcher, or the program that waits for `strategy-lab attach`, polls the folder. Each command is
a separate file, written under a temporary name and then linked to the next free number, which the
`answer` event repeats. This needs no lock: `os.link` fails if the number exists, so two
simultaneous writers get different numbers.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from strategy_profiles.decoders import decoder_of
from strategy_profiles.errors import RunFolderError
from strategy_profiles.guards import read_file
from strategy_profiles.run.layout import command_file, commands_folder, launcher_file
from strategy_profiles.run.manifest import ENGINE, read_run_file
from strategy_profiles.spec.field_types import Json, Name, check_json
from strategy_profiles.spec.limits import LONGEST_LINE_BYTES

OWN_NUMBERS_FROM = 1_000_000
"""First number for commands that do not come from a file, such as the launcher's own."""
_NAME = re.compile(r"(\d{6})\.json")


@dataclass(frozen=True, slots=True)
class LeftCommand:
    """A command as read from its file. `command` is empty if the file is not a command."""

    number: int
    command: str = ""
    changes: Json = field(default_factory=dict)
    """For `reconfigure`: new values by dotted RunSpec path. For `record`: the run folder to record
    into (`run`), `steps`, `seconds` and `capture`."""


class _Content(msgspec.Struct, frozen=True):
    """What the file of a command holds."""

    command: Name
    changes: Json = {}

    def __post_init__(self) -> None:
        check_json(self.changes)


_CONTENT = decoder_of(_Content)


def leave_command(run: Path, command: str, changes: Mapping[str, Any] | None = None) -> int:
    """Write a command, `reconfigure`, `stop` or `record`, for `run`, and return its number.

    Raises RunFolderError if the folder cannot be written, or has no number left.
    """
    folder = commands_folder(run)
    if folder.is_symlink():  # a stranger's run would have this user write where it leads
        raise RunFolderError(f"{folder} is a link: no command is written to where it leads")
    draft = folder / f".{uuid.uuid4().hex}"
    content = {"command": command, **({} if changes is None else {"changes": dict(changes)})}
    try:
        folder.mkdir(exist_ok=True)
        draft.write_text(json.dumps(content) + "\n", encoding="utf-8")
        number = max(_numbers(folder), default=0)
        while True:
            number += 1
            if number >= OWN_NUMBERS_FROM:
                raise RunFolderError(
                    f"{folder} holds a command with the last number, {number - 1}",
                    advice="Remove that file if no lab has written it",
                )
            try:
                # Unlike rename, link fails if the number is taken.
                os.link(draft, command_file(run, number))
            except FileExistsError:
                continue
            return number
    except OSError as error:
        raise RunFolderError(
            f"The command cannot be written to the run folder {run}: {error.strerror}"
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def read_commands(run: Path, after: int = 0) -> list[LeftCommand]:
    """Return the commands with numbers above `after`, in order; empty if unreadable."""
    folder = commands_folder(run)
    try:
        numbers = sorted(number for number in _numbers(folder) if number > after)
    except OSError:
        return []
    return [_read(run, number) for number in numbers]


def _numbers(folder: Path) -> list[int]:
    matches = (_NAME.fullmatch(path.name) for path in folder.iterdir())
    return [int(match[1]) for match in matches if match]


def _read(run: Path, number: int) -> LeftCommand:
    try:
        content = _CONTENT.decode(read_file(command_file(run, number), LONGEST_LINE_BYTES))
    except (OSError, ValueError):
        return LeftCommand(number)
    return LeftCommand(number, content.command, content.changes)


def why_unheard(run: Path) -> str | None:
    """Return why no launcher reads commands from this folder, or None if one does."""
    identity = read_run_file(run)
    if identity is not None and identity.recorded_by != ENGINE:
        return "no launcher of the lab runs it"
    if identity is None or identity.cluster is None:
        return "one launcher runs all of its processes and takes commands directly"
    if not launcher_file(run).exists():
        return "it is not the folder of the host that has worker 0"
    return None
