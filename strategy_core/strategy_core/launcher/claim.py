"""A run takes a folder of its own, or says at once why it cannot.

A folder is free if it does not exist, if it is empty, or if its request was refused before anything
ran: a user who corrects the request wants to use the same name for `-o` again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from strategy_core.cluster.discovery.task_address import OwnTask
from strategy_core.processes import protocol
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_files import EventSource, read_sources
from strategy_profiles.run.events import Exited, SegmentOpened
from strategy_profiles.run.layout import RUN_FILE, worker_folder
from strategy_profiles.run.manifest import Program, create_run_file, read_run_file
from strategy_profiles.run.status import derive_status
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.user_input.text import quoted
from strategy_profiles.whole_files import is_draft_of

_OTHER = "Name another folder, one that is new or empty"
MIN_FREE_BYTES = 1 << 20
"""Less than this holds no run worth the name."""


def claim(folder: Path, spec: RunSpec) -> None:
    """Make `folder` this run's own; raises RunFolderError. Of two at once exactly one gets it."""
    _check_is_no_file(folder)
    if folder.is_dir() and not all(is_draft_of(path, RUN_FILE) for path in folder.iterdir()):
        _free_if_refused(folder)
    _check_space(folder)
    create_run_file(folder, spec.to_json())


def claim_part(
    folder: Path, spec: RunSpec | None, own_task: OwnTask, program: Program | None = None
) -> None:
    """Make one process's part of `folder` its own; raises RunFolderError.

    Hosts may share the folder, and whichever comes first names the run; or each has its own, to be
    collected later. Either way it is the run that was asked for here, in the same cluster. A
    traced program has no spec.
    """
    cluster = {"run_id": own_task.run_id(spec), "tasks": own_task.cluster.to_json()}
    _check_is_no_file(folder)
    if not (folder / RUN_FILE).exists():
        others = list(folder.glob("[!.]*")) if folder.is_dir() else []
        if others and not (folder / RUN_FILE).exists():
            raise RunFolderError(f"{folder} holds other files", advice=_OTHER)
        _check_space(folder)
        try:
            if spec is None:
                create_run_file(folder, recorded_by="record", cluster=cluster, program=program)
            else:
                create_run_file(folder, spec.to_json(), cluster=cluster)
        except RunFolderError:
            if not (folder / RUN_FILE).exists():
                raise
    run_file = read_run_file(folder)
    if run_file is None or msgspec.to_builtins(run_file.cluster) != cluster:
        raise RunFolderError(
            f"{folder} holds another run, or this one with other flags or in another cluster",
            advice="Name another folder, or give the same flags on every host"
            if spec is not None
            else "Name another folder, or give every worker a TF_CONFIG with the same cluster",
        )
    try:
        worker_folder(folder, own_task.process).path.mkdir()
    except FileExistsError:
        raise RunFolderError(
            f"{folder} has {own_task.task.title} already",
            advice="Name another folder, or another task with --index",
        ) from None
    except OSError as error:
        raise RunFolderError(
            f"The run folder {folder} cannot be written: {error.strerror}"
        ) from error


def _check_is_no_file(folder: Path) -> None:
    try:
        if not folder.exists() or folder.is_dir():
            return
    except (OSError, ValueError) as error:  # longer than a name can be, or with a null byte
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise RunFolderError(
            f"A run cannot be recorded into {quoted(str(folder))[1:-1]}: {why}"
        ) from None
    raise RunFolderError(f"{folder} is a file, not a folder", advice="Name another folder")


def _free_if_refused(folder: Path) -> None:
    """Empty a folder in which nothing ever ran; raises RunFolderError for every other one."""
    if not (folder / RUN_FILE).is_file():
        raise RunFolderError(f"{folder} holds other files", advice=_OTHER)
    sources = read_sources(folder)
    if derive_status(sources).state == "running":
        raise RunFolderError(
            f"{folder} holds a run that is still writing to it",
            advice="Name another folder, or stop that run first",
        )
    if not _was_refused(sources):
        raise RunFolderError(f"{folder} holds a run already", advice=_OTHER)
    shutil.rmtree(folder)


def _was_refused(sources: tuple[EventSource, ...]) -> bool:
    """Whether all that happened there is a worker that refused the request."""
    exits = [event for source in sources for event in source.of_kind(Exited)]
    opened = any(source.of_kind(SegmentOpened) for source in sources)
    own = [event.exit_code for event in exits if not event.is_consequence]
    return not opened and own == [protocol.EXIT_REFUSED]


def _check_space(folder: Path) -> None:
    """Raise RunFolderError where the disk is full already."""
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    try:
        free = shutil.disk_usage(existing).free
    except OSError as error:
        raise RunFolderError(
            f"The run folder {folder} cannot be written: {error.strerror}"
        ) from None
    if free < MIN_FREE_BYTES:
        raise RunFolderError(
            f"{existing} has {free // 1024} KiB of free space; a run needs at least "
            f"{MIN_FREE_BYTES // 1024} KiB",
            advice="Free some space, or name a folder on another disk",
        )
