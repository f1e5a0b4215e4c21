"""Files that appear whole: a reader sees the old content or the new one, never a part of it."""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

from strategy_profiles.errors import RunFolderError


def replace_file(file: Path, content: bytes) -> None:
    """Write a file whole and make its folder; a reader sees the old content or the new one.

    Raises RunFolderError; the old content then stays.
    """
    with _draft_of(file, content) as draft:
        draft.replace(file)


def create_file(file: Path, content: bytes) -> bool:
    """Write a new file whole and make its folder; returns False if the file exists already.

    Of several processes that create one file at once exactly one gets True. Raises RunFolderError.
    """
    with _draft_of(file, content) as draft:
        try:
            os.link(draft, file)  # unlike rename, fails if the file exists
        except FileExistsError:
            return False
    return True


def read_whole(file: Path, most_bytes: int) -> bytes:
    """Return the content of a small file that may come from elsewhere.

    Raises ValueError with the reason if it is no file or has more bytes, and OSError.
    """
    # Opening a pipe would wait for its writer.
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise ValueError(f"{file.name} is no file")
        content = opened.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(f"{file.name} has more than {most_bytes:,} bytes")
    return content


def is_draft_of(path: Path, name: str) -> bool:
    """Return whether a file becomes the file `name` of its folder, or was left by a killed
    process that wrote that one."""
    return path.name.startswith(f".{name}.")


@contextlib.contextmanager
def _draft_of(file: Path, content: bytes) -> Iterator[Path]:
    """Yield a file with the content beside `file`, whose folder is made; it is removed afterwards.

    Raises RunFolderError instead of OSError, also of the block.
    """
    # A process id would not be unique: hosts may share the disk.
    draft = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    try:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise RunFolderError(f"{file.parent} is a file, not a folder") from None
        draft.write_bytes(content)
        yield draft
    except OSError as error:
        raise RunFolderError(f"{file} cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
