"""Tell a run from another one that was recorded later under the same name.

A name and an inode do not: file systems hand out the inode of a deleted folder again.
"""

from __future__ import annotations

import functools
import hashlib
import stat
import time
from pathlib import Path

from strategy_lab.profiles.run.layout import RUN_FILE, launcher_files, worker_folders
from strategy_lab.profiles.run.manifest import read_run_file

_SETTLED_NS = 1_000_000_000
_HEAD_BYTES = 512
"""Enough for the first event of a file, which has its time in ns and its process in it."""


def identity_of(run: Path) -> str | None:
    """A short text that no other run has; None if the folder holds nothing of a run (yet).

    It is the `uid` of `run.json`. A run.json of an earlier version has none: there it is the
    run's creation time and the file's change time. Without run.json it is the beginning of the
    first file of events.
    """
    try:
        found = _evidence(run)
    except OSError:
        return None
    return hashlib.sha256(found.encode()).hexdigest()[:16] if found else None


def _evidence(run: Path) -> str:
    try:
        found = (run / RUN_FILE).stat()
    except FileNotFoundError:
        return _first_event(run)
    if not stat.S_ISREG(found.st_mode):
        return _first_event(run)
    state = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    # A file changed a moment ago may change again without another time: its clock has a tick.
    is_settled = time.time_ns() - found.st_ctime_ns > _SETTLED_NS
    return _settled_evidence(run, *state) if is_settled else _of_run_file(run, *state)


def _of_run_file(run: Path, inode: int, _size: int, _mtime_ns: int, ctime_ns: int) -> str:
    identity = read_run_file(run)
    if identity is not None and identity.uid:
        return identity.uid
    created_ns = identity.created_ns if identity is not None else 0
    return f"{created_ns} {inode} {ctime_ns}"


_settled_evidence = functools.lru_cache(maxsize=256)(_of_run_file)
"""Followers ask up to 40 times a second; reading the file takes some 0.1 ms."""


def _first_event(run: Path) -> str:
    events = [*launcher_files(run), *(folder.events for folder in worker_folders(run))]
    for path in events:
        if path.is_file():
            with path.open("rb") as opened:
                head = opened.read(_HEAD_BYTES)
            # A first line that is still being written would give another text once it is whole.
            if b"\n" in head or len(head) == _HEAD_BYTES:
                return head.partition(b"\n")[0].decode(errors="replace")
    return ""
