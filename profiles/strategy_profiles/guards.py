"""Guards of what comes in from outside: the kind and the size of a file, the nesting of a program
and of folders.

A path from a person or within a run folder may lead to a pipe, whose reader waits for ever, to a
device, which never ends, or to a file that fills the memory. Every file that the lab has not
written for itself is opened here; `tests/doors` finds others that are. The other guards: numbers
and JSON that a person wrote, `user_input.text`; JSON of a program, `decoders`; what a packed file
unpacks to, `imports.unpacked`.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MOST_PROGRAM_BYTES = 10_000_000
"""Of a Python file that is parsed."""
_OTHER_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class RefusedFileError(OSError):
    """What is at a path is not read. `strerror` says why, as the system's own errors do."""

    def __init__(self, why: str, path: Path) -> None:
        super().__init__(0, why, str(path))

    def __str__(self) -> str:
        return str(self.strerror)


def kind_of(mode: int) -> str:
    """What a file's mode is of: `a file`, `a folder`, `a pipe`, `a socket`, `a device`."""
    if stat.S_ISREG(mode):
        return "a file"
    return next((name for is_it, name in _OTHER_KINDS if is_it(mode)), "something else")


def open_file(path: Path) -> BinaryIO:
    """Open a regular file, or what a link to one leads to.

    Raises OSError: RefusedFileError if it is something else.
    """
    _check_kind(_stat(path), path)  # to open a device can have an effect
    # Without O_NONBLOCK, to open a pipe that has just taken its place would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _check_kind(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_file(path: Path, most_bytes: int) -> bytes:
    """Return the content of a file.

    Raises OSError: RefusedFileError if it is no regular file, or has more bytes.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise RefusedFileError(f"it has {size:,} bytes, more than {most_bytes:,}", path)
        return file.read(size) or b""


def parse_program(path: Path) -> ast.Module:
    """Parse a Python file, and do not run it. Raises OSError, SyntaxError or ValueError."""
    try:
        return ast.parse(read_file(path, MOST_PROGRAM_BYTES))
    except (RecursionError, MemoryError):  # how Python's own parser refuses deep nesting
        raise ValueError("it is nested too deeply for Python") from None


def files_below(folder: Path) -> Iterator[Path]:
    """Yield each file, and each link, in a folder and in those below it, which may be any number.

    `rglob` and `os.walk` fail where a thousand are one in the other. Folders that cannot be listed
    have nothing.
    """
    left = [folder]
    while left:
        with contextlib.suppress(OSError):
            for path in list(left.pop().iterdir()):
                if not path.is_symlink() and path.is_dir():
                    left.append(path)
                else:
                    yield path


def remove_folder(folder: Path) -> None:
    """Remove a folder; raises OSError. `shutil.rmtree` fails where a thousand are one in the other,
    and at one whose owner has no right to change it."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        _flatten(folder)
        shutil.rmtree(folder)


def _flatten(folder: Path) -> None:
    """Move all folders that are below one into it, and take the right to empty them."""
    folder.chmod(stat.S_IRWXU)
    left = [folder]
    while left:
        for path in list(left.pop().iterdir()):
            if not path.is_symlink() and path.is_dir():
                path.chmod(stat.S_IRWXU)
                left.append(path.rename(folder / uuid.uuid4().hex))


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise RefusedFileError("it is a link that leads to itself", path) from None


def _check_kind(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise RefusedFileError(f"it is not a file, but {kind_of(status.st_mode)}", path)
