"""Find the files of a profile: a file, the folder of a session, or a log directory."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from strategy_profiles.errors import LabError
from strategy_profiles.guards import open_file

XPLANE_SUFFIXES = (".xplane.pb", ".xplane.pb.gz", ".xplane")
CHROME_SUFFIXES = (".trace.json", ".trace.json.gz", "trace.json", "trace.json.gz")
SUFFIXES = (*XPLANE_SUFFIXES, *CHROME_SUFFIXES, ".json", ".json.gz", ".pb", ".gz")
SESSIONS = Path("plugins") / "profile"
_MOST_HOSTS = 4096
_HEAD_BYTES = 1 << 18
_ADVICE = (
    "Name an .xplane.pb file, a folder plugins/profile/<time> or the log directory above it, "
    "or a Chrome trace (trace.json.gz)"
)


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files of one profile, one per host."""

    files: tuple[Path, ...]
    others: tuple[Path, ...] = ()
    """Other sessions of the same log directory, the newest first."""

    @property
    def name(self) -> str:
        """A name for the run: that of the session, else of the file."""
        first = self.files[0]
        is_session = first.parent.parent.name == SESSIONS.name
        return first.parent.name if is_session else host_of(first)


def find_files(path: Path) -> FoundFiles:
    """Return the files of the profile at `path`. Raises LabError if there is none."""
    try:
        if path.is_dir():
            return _in_folder(path)
        if path.is_file():
            return FoundFiles((path,))
    except OSError as error:
        raise LabError(f"{path} cannot be read: {error.strerror}") from error
    if path.exists():
        raise LabError(f"{path} is no file and no folder", advice=_ADVICE)
    raise LabError(f"There is nothing at {path}", advice=_ADVICE)


def host_of(file: Path) -> str:
    """Return the host that a file's name has: `worker-0` for `worker-0.xplane.pb`."""
    for suffix in SUFFIXES:
        if file.name.endswith(suffix) and file.name != suffix:
            return file.name.removesuffix(suffix).rstrip(".")
    return file.stem


def _in_folder(folder: Path) -> FoundFiles:
    own = _profiles_in(folder)
    if own:
        return FoundFiles(own)
    sessions = _sessions_below(folder)
    if not sessions:
        raise LabError(f"{folder} has no profile in it", advice=_ADVICE)
    newest = sessions[0]
    return FoundFiles(_profiles_in(newest), tuple(sessions[1:]))


def _profiles_in(folder: Path) -> tuple[Path, ...]:
    """Return the profiles in a folder; Chrome traces only if it has no others.

    A link to a file that is gone counts: the host is missing from the run, which a note says.
    """
    names = sorted(path for path in folder.iterdir() if path.is_file() or _is_gone(path))
    names = names[: 4 * _MOST_HOSTS]
    for suffixes in (XPLANE_SUFFIXES, CHROME_SUFFIXES):
        files = tuple(path for path in names if path.name.endswith(suffixes))
        if files:
            return files[:_MOST_HOSTS]
    # PyTorch lets the program name its traces: `rank-0.json.gz`.
    named = [path for path in names if path.name.endswith((".json", ".json.gz"))]
    return tuple(path for path in named[:_MOST_HOSTS] if _has_trace_events(path))


def _has_trace_events(path: Path) -> bool:
    try:
        with open_file(path) as file:
            opened = gzip.GzipFile(fileobj=file) if path.name.endswith(".gz") else file
            return b'"traceEvents"' in opened.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return False


def _is_gone(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def _sessions_below(folder: Path) -> list[Path]:
    """Return the folders of sessions, the newest first: TensorFlow names them by their time."""
    folders = [
        session
        for pattern in ("", "*/", "*/*/")
        for home in folder.glob(f"{pattern}{SESSIONS}")
        for session in home.iterdir()
        if session.is_dir() and _profiles_in(session)
    ]
    if folder.name == SESSIONS.name:
        folders += [each for each in folder.iterdir() if each.is_dir() and _profiles_in(each)]
    return sorted(set(folders), key=lambda session: (session.name, str(session)), reverse=True)
