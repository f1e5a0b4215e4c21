"""A run opened for looking at, and the answers it gave: each read or computed once per state.

A finished run never changes, so its answers hold for good; those of a live one hold until its
files grow.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import streamlit as st

from strategy_lab.profiles.events import SegmentOpened
from strategy_lab.profiles.identity import identity_of
from strategy_lab.profiles.layout import RUN_FILE, launcher_files, worker_folders
from strategy_lab.profiles.status import derive_status
from strategy_lab.profiles.store import Profile, load

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A profile and the state of its files (`stamp`) when it was read."""

    profile: Profile
    stamp: str

    def ask(self, question: Callable[..., Answer], *args: Hashable) -> Answer:
        """`question(profile, *args)`, computed once per run state; raises what it raises."""
        name = f"{question.__module__}.{question.__qualname__}"
        answer: Answer = _ask(
            name, str(self.profile.path), self.stamp, args, _run=self, _question=question
        )
        return answer


def open_run(path: Path) -> OpenRun:
    """The run as its files are right now; raises RunFolderError where it cannot be read."""
    stamp = stamp_of(path)
    opened: OpenRun = _open(str(path), stamp)
    if opened.profile.status.is_over:
        return opened
    # Whether a process still lives is no part of the files.
    status = derive_status(opened.profile.sources)
    if status == opened.profile.status:
        return opened
    return OpenRun(replace(opened.profile, status=status), f"{stamp} {status.state}")


def stamp_of(run: Path) -> str:
    """Which run it is, and sizes and times of its files: it changes whenever the run has grown."""
    files = [run / RUN_FILE]
    windows = []
    try:
        files += launcher_files(run)
        for folder in worker_folders(run):
            files.append(folder.events)
            windows.append(str(folder.path.stat().st_mtime_ns))
    except OSError:
        pass  # `load` says what is wrong with the folder
    return " ".join([identity_of(run) or "-", *map(_file_stamp, files), *windows])


def _file_stamp(file: Path) -> str:
    try:
        stat = file.stat()
    except OSError:
        return "-"
    return f"{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}"


@st.cache_resource(max_entries=12, show_spinner=False)
def _open(path: str, stamp: str) -> OpenRun:
    return OpenRun(load(path), stamp)


@st.cache_resource(
    max_entries=400, show_spinner=False, hash_funcs={SegmentOpened: msgspec.json.encode}
)
def _ask(
    name: str,  # noqa: ARG001 - the cache's key
    path: str,  # noqa: ARG001
    stamp: str,  # noqa: ARG001
    args: tuple[Hashable, ...],
    *,
    _run: OpenRun,
    _question: Callable[..., Any],
) -> Any:
    return _question(_run.profile, *args)
