"""Merge the folders that the hosts of a run wrote into one run folder.

The `run.json` of every host's folder identifies the run: its spec, the tasks of its cluster, and
the job's id (`cluster`). Folders belong together if these are equal, they contain different
processes, and they were written at the same time. Files are only copied, and the result appears
atomically.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from strategy_profiles.errors import RunFolderError, SpecError
from strategy_profiles.guards import files_below, remove_folder
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.layout import WorkerFolder, launcher_files, worker_folders
from strategy_profiles.run.manifest import (
    ClusterIdentity,
    RunIdentity,
    create_run_file,
    read_run_file,
)
from strategy_profiles.user_input import files

_LARGEST_HOLE = 1 << 28
_APART_NS = 600_000_000_000
"""Largest gap between the times of two hosts: clocks can differ, and hosts wait for each other."""


@dataclass(frozen=True, slots=True)
class Collected:
    """A merged run."""

    folder: Path
    present: tuple[int, ...]
    """Numbers of the processes with records."""
    missing: tuple[str, ...]
    """Names of the cluster's processes without records."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """The folder of one host."""

    folder: Path
    identity: RunIdentity
    workers: tuple[WorkerFolder, ...]
    first_ns: int
    last_ns: int

    @property
    def cluster(self) -> ClusterIdentity | None:
        return self.identity.cluster


def collect(folders: Sequence[Path], run: Path) -> Collected:
    """Merge the folders of one run's hosts into the new folder `run`.

    Raises RunFolderError if they do not belong together, or cannot be read or written.
    """
    pieces = [_read(folder) for folder in folders]
    if not pieces:
        raise RunFolderError(
            "No host's folder was named", advice="Name the folder of every host of the run"
        )
    _check_together(pieces)
    if run.exists() and (not run.is_dir() or any(run.iterdir())):
        raise RunFolderError(
            f"{run} exists and is not an empty folder", advice="Name a new or empty one"
        )
    _write(pieces, run)
    present = tuple(sorted({worker.worker for piece in pieces for worker in piece.workers}))
    cluster = pieces[0].cluster
    names = (f"{task.role} {task.index}" for task in (cluster.tasks if cluster else ()))
    missing = tuple(name for number, name in enumerate(names) if number not in present)
    return Collected(run, present, missing)


def _read(folder: Path) -> _Piece:
    try:
        is_folder = files.find(folder, "The host's folder").kind == "a folder"
    except SpecError as error:
        raise RunFolderError(str(error)) from None
    if not is_folder:
        raise RunFolderError(f"{folder} is not a folder", advice="Name the folders of the hosts")
    identity = read_run_file(folder)
    if identity is None or not identity.cluster:
        raise RunFolderError(
            f"{folder} is not one host's part of a run: its run.json names no cluster",
            advice="Name folders that `strategy-lab worker -o` wrote",
        )
    workers = tuple(worker for worker in worker_folders(folder) if not worker.path.is_symlink())
    sources = [source for source in read_sources(folder) if source.last_ns]
    if not workers or not sources:
        raise RunFolderError(
            f"{folder} holds no events of a process",
            advice="Name folders that `strategy-lab worker -o` wrote",
        )
    for path in files_below(folder):
        if path.is_file() and not path.is_symlink():
            _check_has_contents(path)
    first_ns = min(source.first_ns for source in sources)
    return _Piece(folder, identity, workers, first_ns, max(source.last_ns for source in sources))


def _check_has_contents(path: Path) -> None:
    """Raise RunFolderError for a large sparse file: a copy of it could fill the disk."""
    status = path.stat()
    on_disk = 512 * status.st_blocks
    if status.st_size > _LARGEST_HOLE and on_disk < status.st_size // 2:
        raise RunFolderError(
            f"{path} is damaged: {status.st_size:,} bytes long, of which the disk holds {on_disk:,}"
        )


def _check_together(pieces: Sequence[_Piece]) -> None:
    """Raise RunFolderError if the pieces are not parts of one run."""
    first, seen = pieces[0], dict[str, Path]()
    for piece in pieces:
        if piece.cluster != first.cluster:
            raise RunFolderError(
                f"{first.folder} and {piece.folder} belong to different runs: they differ in "
                f"{_difference(first, piece)}"
            )
        if piece.first_ns - _APART_NS > first.last_ns or first.first_ns - _APART_NS > piece.last_ns:
            raise RunFolderError(
                f"{first.folder} and {piece.folder} belong to different runs: one ended "
                "before the other began"
            )
        for worker in piece.workers:
            other = seen.setdefault(worker.path.name, piece.folder)
            if other != piece.folder:
                raise RunFolderError(
                    f"{worker.path.name} is in {other} and in {piece.folder}",
                    advice="Name one folder for each process",
                )


def _difference(one: _Piece, other: _Piece) -> str:
    """Return in what two hosts' requests differ."""
    tasks = [piece.cluster and piece.cluster.tasks for piece in (one, other)]
    if tasks[0] != tasks[1]:
        return "the addresses of the cluster"
    specs = [piece.identity.spec or {} for piece in (one, other)]
    fields = [name for name in specs[0] if specs[0][name] != specs[1].get(name)]
    return ", ".join(fields) or "the job that started them"


def _write(pieces: Sequence[_Piece], run: Path) -> None:
    """Copy to a temporary folder and rename it, so that `run` is never partial."""
    earliest = min(pieces, key=lambda piece: piece.identity.created_ns)
    draft: Path | None = None
    try:
        run.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{run.name}.", dir=run.parent))
        draft.chmod(0o755)
        for piece in pieces:
            for worker in piece.workers:
                shutil.copytree(worker.path, draft / worker.path.name, ignore=_irregular)
            for path in launcher_files(piece.folder):
                if path.is_file() and not path.is_symlink():
                    shutil.copyfile(path, draft / path.name)
        create_run_file(
            draft,
            earliest.identity.spec,
            recorded_by=earliest.identity.recorded_by,
            created_ns=earliest.identity.created_ns,
            cluster=msgspec.to_builtins(earliest.identity.cluster),
            name=run.resolve().name,
            program=earliest.identity.program,
            parts=[uid for piece in pieces for uid in (piece.identity.uid, *piece.identity.parts)],
        )
        draft.replace(run)
    except RecursionError:  # of `copytree`
        raise RunFolderError(
            "The run cannot be collected: its folders are nested too deeply"
        ) from None
    except OSError as error:
        where = error.filename or run
        raise RunFolderError(
            f"The run cannot be collected: {where}: {error.strerror or error}"
        ) from error
    finally:
        if draft is not None:
            with suppress(OSError):  # it has the run's name now
                remove_folder(draft)


def _irregular(folder: str, names: list[str]) -> list[str]:
    """Return the names to skip: links, which can point outside the run, and pipes, which block."""
    paths = [Path(folder) / name for name in names]
    return [p.name for p in paths if p.is_symlink() or not (p.is_file() or p.is_dir())]
