"""Unpacks a ZIP file of a stranger into a folder: files only, of a bounded number and size."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from strategy_profiles.errors import LabError
from strategy_profiles.guards import open_file

ENDS = (".zip",)
MOST_FILES = 100_000
MOST_BYTES = 4 << 30
MOST_TIMES, NO_BOMB_BYTES = 200, 64 << 20
"""What unpacks to more than so many times its size, and to more than so many bytes, is no run."""
_PIECE_BYTES = 1 << 20


def is_packed(path: Path) -> bool:
    """Whether the name of a file is that of a ZIP file."""
    return path.name.lower().endswith(ENDS) and path.is_file()


@contextmanager
def unpacked(path: Path, beside: Path) -> Iterator[Path]:
    """Yield the folder that a ZIP file holds, below a folder within `beside` that is gone after.

    Its name is that of the one folder which the file has at its top, else that of the file. Raises
    LabError for a file that is damaged or too large, and OSError if `beside` cannot be written.
    """
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=beside, prefix=".unpacked-") as made:
        folder = Path(made) / (path.stem or "imported")
        folder.mkdir()
        try:
            with open_file(path) as file, zipfile.ZipFile(file) as packed:
                _unpack(packed, path, folder)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise LabError(f"{path.name} is damaged, or no ZIP file: {error}") from error
        except (RuntimeError, NotImplementedError) as error:
            raise LabError(f"{path.name} cannot be unpacked: {error}") from error
        top = list(folder.iterdir())
        yield top[0] if len(top) == 1 and top[0].is_dir() else folder


def _unpack(packed: zipfile.ZipFile, path: Path, folder: Path) -> None:
    members = [member for member in packed.infolist() if not member.is_dir()]
    if len(members) > MOST_FILES:
        raise LabError(f"{path.name} holds {len(members):,} files, more than {MOST_FILES:,}")
    left = min(MOST_BYTES, max(NO_BOMB_BYTES, MOST_TIMES * path.stat().st_size))
    for member in members:
        target = folder / _place(member.filename, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with packed.open(member) as source, target.open("xb") as written:
            left -= _copy(source, written, left)
        if left < 0:
            raise LabError(f"{path.name} unpacks to more bytes than a recorded run has")


def _place(name: str, path: Path) -> PurePosixPath:
    """Return where a member belongs. A link is written as the file whose text is its target."""
    place = PurePosixPath(name.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts or ":" in place.parts[0]:
        raise LabError(f"{path.name} holds a file outside of its folder: {name}")
    return place


def _copy(source: IO[bytes], target: IO[bytes], most: int) -> int:
    """Copy a file piece by piece until `most` bytes are exceeded. Returns what was written."""
    written = 0
    while written <= most and (piece := source.read(_PIECE_BYTES)):
        written += target.write(piece)
    return written
