"""Paths that a user gave: what is at them, found without opening it, and small text files.

A path may be too long, name the home of a user who does not exist, or lead to a pipe whose reader
would wait for ever. Each case raises SpecError with a message for the user.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from msgspec import Struct

from strategy_profiles.errors import RunFolderError, SpecError
from strategy_profiles.guards import kind_of, open_file
from strategy_profiles.user_input.text import MAX_BYTES, first_line, quoted

_GIVEN_OPEN = ("/dev/stdin", "/dev/fd/")
"""Descriptors that are open already: `strategy-lab run <(make-spec)` passes `/dev/fd/63`."""


class FileStatus(Struct, frozen=True):
    """The kind of object at a path."""

    path: Path
    kind: str
    """`a file`, `a folder`, or what else it is: `a pipe`, `a socket`, `a device`."""
    num_bytes: int


def find(text: str | Path, what: str, field: str = "") -> FileStatus:
    """Return the kind and size of what is at a path, without opening it.

    Expands `~` and follows links. Raises SpecError if nothing is there or the path cannot be used;
    its message calls the path `what`, and it belongs to the spec's `field`.
    """
    try:
        path = Path(text).expanduser()
        status = path.stat()
    except FileNotFoundError:
        raise SpecError(
            f"{what} {_unquoted(text)} does not exist", advice=_where_from(path), field=field
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        # A null byte in a path is a ValueError, the home of an unknown user a RuntimeError.
        raise _unreadable(text, what, error, field) from None
    return FileStatus(path, kind_of(status.st_mode), status.st_size)


def _where_from(path: Path) -> str:
    """What to do about a path at which there is nothing: a page does not show where it starts."""
    if path.is_absolute():
        return "Correct its path"
    try:
        return f"Correct its path, which starts at {Path.cwd()}"
    except OSError:  # the folder was deleted
        return "Correct its path"


def find_file(text: str | Path, what: str, field: str = "") -> Path:
    """Return the regular file at a path. Raises SpecError if there is none."""
    chosen = find(text, what, field)
    if chosen.kind != "a file":
        raise SpecError(f"{what} {_unquoted(text)} is {chosen.kind}, not a file", field=field)
    return chosen.path


def read_text(path: Path, what: str, most_bytes: int = MAX_BYTES) -> str:
    """Return the text of a small file in UTF-8.

    Raises SpecError if it cannot be read, is no regular file, or has more bytes. A pipe
    that the shell has opened for this process (`/dev/stdin`, `/dev/fd/N`) is read: it has a writer,
    so that its reader does not wait for ever.
    """
    is_open = str(path).startswith(_GIVEN_OPEN)
    file = path if is_open else find_file(path, what)
    try:
        with file.open("rb") if is_open else open_file(file) as opened:
            data = opened.read(most_bytes + 1)
    except OSError as error:
        raise _unreadable(path, what, error, "") from None
    if len(data) > most_bytes:
        raise SpecError(f"{what} {path} is larger than {most_bytes:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise SpecError(f"{what} {path} is not text in UTF-8", advice="Save it as UTF-8") from None


def write_text(path: str | Path, text: str, mode: str = "w") -> None:
    """Write a text file, or append to it with mode `a`; raises RunFolderError.

    A byte of a file's name that is no UTF-8 becomes a question mark. A pipe is written if a program
    reads it.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK
    flags |= os.O_APPEND if mode == "a" else os.O_TRUNC
    try:
        descriptor = os.open(path, flags, 0o666)  # without O_NONBLOCK it would wait for a reader
        os.set_blocking(descriptor, True)
        with os.fdopen(descriptor, mode, encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        is_unread = error.errno == errno.ENXIO
        why = "it is a pipe that no program reads" if is_unread else error.strerror
        raise RunFolderError(f"{path} cannot be written: {why}") from error


def _unquoted(text: str | Path) -> str:
    """The path for a message: shortened and escaped as by `shown`, without its quotation marks."""
    return quoted(str(text))[1:-1]


def _unreadable(text: str | Path, what: str, error: Exception, field: str) -> SpecError:
    why = (error.strerror if isinstance(error, OSError) else None) or first_line(error)
    return SpecError(f"{what} {_unquoted(text)} cannot be read: {why}", field=field)
