"""What was recorded elsewhere as runs: packed runs of the lab, and profiles of other programs.

Packages add importers of profiles by entry points of the group `strategy_lab.imports`.
"""

from __future__ import annotations

import itertools
import lzma
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from strategy_profiles.errors import LabError
from strategy_profiles.guards import open_file
from strategy_profiles.registered import loaded
from strategy_profiles.run.layout import RUN_FILE
from strategy_profiles.run.manifest import check_is_free, why_damaged

ENDS = (".zip",)
MOST_FILES = 100_000
MOST_DEEP = 100
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
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError) as error:
            raise LabError(f"{path.name} is damaged, or no ZIP file: {error}") from error
        except (RuntimeError, NotImplementedError) as error:
            raise LabError(f"{path.name} cannot be unpacked: {error}") from error
        top = list(folder.iterdir())
        yield top[0] if len(top) == 1 and top[0].is_dir() else folder


def _unpack(packed: zipfile.ZipFile, path: Path, folder: Path) -> None:
    # `is_dir` of a member without a name raises IndexError.
    members = [member for member in packed.infolist() if not member.filename.endswith("/")]
    if len(members) > MOST_FILES:
        raise LabError(f"{path.name} holds {len(members):,} files, more than {MOST_FILES:,}")
    left = min(MOST_BYTES, max(NO_BOMB_BYTES, MOST_TIMES * path.stat().st_size))
    for member in members:
        target = folder / _member_path(member.filename, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with packed.open(member) as source, target.open("xb") as written:
            left -= _copy(source, written, left)
        if left < 0:
            raise LabError(f"{path.name} unpacks to more bytes than a recorded run has")


def _member_path(name: str, path: Path) -> PurePosixPath:
    """Return where a member belongs. A link is written as the file whose text is its target."""
    inner = PurePosixPath(name.replace("\\", "/"))
    if not 0 < len(inner.parts) <= MOST_DEEP:
        raise LabError(f"{path.name} holds a file with no name, or in over {MOST_DEEP} folders")
    if inner.is_absolute() or ".." in inner.parts or ":" in inner.parts[0]:
        raise LabError(f"{path.name} holds a file outside of its folder: {name}")
    return inner


def _copy(source: IO[bytes], target: IO[bytes], most: int) -> int:
    """Copy a file piece by piece until `most` bytes are exceeded. Returns what was written."""
    written = 0
    while written <= most and (piece := source.read(_PIECE_BYTES)):
        written += target.write(piece)
    return written


PACKED_RUN = "a run folder, or one of these profiles, packed as a ZIP file"
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Importer:
    """Opens profiles of one sort."""

    reads: str
    """What it opens, for `strategy-lab import --help`: `a file .sqlite of another profiler`."""
    write: Callable[[Path, Path], None]
    """Writes the profile at a path as a new run folder. Raises LabError and OSError."""
    ends: tuple[str, ...]
    """How the names of its files and folders end, in small letters; `` is the end of all names. Of
    several importers the one with the longest end opens a file, and of equal ones the lab's own."""
    run_name: Callable[[Path], str] = lambda path: path.name.partition(".")[0]
    """The name of the run, if none is asked for. Raises LabError if there is no profile."""


def importers() -> list[Importer]:
    """The importers that packages add; of equal ends, the one that counts is behind the others."""
    return list(loaded("imports", Importer)[0].values())


def what_is_read() -> list[str]:
    """What can be imported here, for help: `a file .sqlite of another profiler`."""
    return [*(each.reads for each in reversed(importers())), PACKED_RUN]


def import_profile(path: Path, run: Path | None = None, runs: Path = Path("runs")) -> Path:
    """Write the profile, or the packed run, at `path` as the run folder `run`.

    Without `run`, it is a folder in `runs` with the name of the profile. Returns the folder. Raises
    LabError if no importer opens it, or the folder holds a run.
    """
    with _refused(path, run or runs):
        if not is_packed(path):
            return _imported(path, run, runs)
        with unpacked(path, run.parent if run else runs) as folder:
            if not (folder / RUN_FILE).is_file():
                return _imported(folder, run, runs)
            if why := why_damaged(folder):
                raise LabError(f"The run in {path.name} has a damaged {RUN_FILE}: {why}")
            target = run or _free_folder(runs, folder.name)
            check_is_free(target)
            return folder.rename(target)


def _imported(path: Path, run: Path | None, runs: Path) -> Path:
    importer = _importer_of(path)
    folder = run or _free_folder(runs, importer.run_name(path))
    check_is_free(folder)
    is_new = not folder.exists()
    try:
        importer.write(path, folder)
    except OSError:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


@contextmanager
def _refused(path: Path, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise LabError(f"{path} cannot be written as a run to {folder}: {why}") from error


def _importer_of(path: Path) -> Importer:
    name = path.name.lower()
    ends = [(end, each) for each in importers() for end in each.ends if name.endswith(end)]
    if not ends:
        raise LabError(
            f"No installed package opens {path}",
            advice="Install one that does",
        )
    return sorted(ends, key=lambda item: len(item[0]))[-1][1]


def _free_folder(runs: Path, name: str) -> Path:
    """Return the folder of this name in `runs`, with a number if there is one already."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:_LONGEST_NAME].strip("-.") or "imported"
    names = (plain if number == 1 else f"{plain}-{number}" for number in itertools.count(1))
    return next(runs / each for each in names if not (runs / each).exists())
