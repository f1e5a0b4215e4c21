"""Files that appear whole: a reader sees the old content or the new one, never a part of it."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from strategy_profiles.errors import RunFolderError
from strategy_profiles.guards import kind_of


def replace_file(file: Path, content: bytes) -> None:
    """Write a file whole and make its folder; a reader sees the old content or the new one.

    Raises RunFolderError, also if there is something else than a file; what was there then stays.
    """
    if file.exists() and not file.is_file():  # it could be replaced, as /dev/null can by root
        kind = kind_of(file.stat().st_mode)
        raise RunFolderError(f"{file} is {kind}, not a file", advice="Name a file")
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
