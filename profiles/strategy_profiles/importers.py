"""Profiles of other programs as runs, by importers.

Packages add them by entry points of the group `strategy_lab.imports`.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from strategy_profiles.errors import LabError
from strategy_profiles.registered import loaded
from strategy_profiles.run.manifest import check_is_free

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


def import_profile(path: Path, run: Path | None = None) -> Path:
    """Write the profile at `path` as the run folder `run`, by default `runs/<its name>`.

    Returns the folder. Raises LabError if no importer opens it, or the folder holds a run.
    """
    importer = _importer_of(path)
    folder = run or _free_folder(Path("runs"), importer.run_name(path))
    check_is_free(folder)
    is_new = not folder.exists()
    try:
        importer.write(path, folder)
    except OSError as error:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        why = error.strerror or error
        raise LabError(f"{path} cannot be written as the run folder {folder}: {why}") from error
    return folder


def _importer_of(path: Path) -> Importer:
    name = path.name.lower()
    ends = [(end, each) for each in importers() for end in each.ends if name.endswith(end)]
    if not ends:
        raise LabError(
            f"No installed package opens {path}",
            advice="Install one that does; strategy-lab doctor lists what packages add",
        )
    return sorted(ends, key=lambda item: len(item[0]))[-1][1]


def _free_folder(runs: Path, name: str) -> Path:
    """Return the folder of this name in `runs`, with a number if there is one already."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:_LONGEST_NAME].strip("-.") or "imported"
    names = (plain if number == 1 else f"{plain}-{number}" for number in itertools.count(1))
    return next(runs / each for each in names if not (runs / each).exists())
