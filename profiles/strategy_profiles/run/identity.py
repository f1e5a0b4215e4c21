"""Distinguish a run from a later one with the same name.

Name and inode are not sufficient: file systems reuse the inode of a deleted folder.
"""

from __future__ import annotations

import functools
import hashlib
import stat
import time
from pathlib import Path

from strategy_profiles.guards import RefusedFileError, open_file
from strategy_profiles.run.layout import RUN_FILE, launcher_files, worker_folders
from strategy_profiles.run.manifest import read_run_file

_SETTLED_NS = 1_000_000_000
_HEAD_BYTES = 512
"""Enough for the first event of a file, which includes its time in ns and its process."""


def identity_of(run: Path) -> str | None:
    """Return a short text that identifies the run, or None if the folder has no run (yet).

    It is a hash of the `uid` in `run.json`. For a `run.json` of an earlier version, without `uid`,
    the run's creation time and the file's inode and change time are used; without `run.json`, the
    beginning of the first event file.
    """
    try:
        evidence = _evidence(run)
    except OSError:
        return None
    return hashlib.sha256(evidence.encode()).hexdigest()[:16] if evidence else None


def _evidence(run: Path) -> str:
    try:
        status = (run / RUN_FILE).stat()
    except FileNotFoundError:
        return _first_event(run)
    if not stat.S_ISREG(status.st_mode):
        return _first_event(run)
    state = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    # File times have a coarse resolution: a file that changed a moment ago can change again without
    # a new time, so do not cache its contents.
    is_settled = time.time_ns() - status.st_ctime_ns > _SETTLED_NS
    return _settled_evidence(run, *state) if is_settled else _of_run_file(run, *state)


def _of_run_file(run: Path, inode: int, _size: int, _mtime_ns: int, ctime_ns: int) -> str:
    identity = read_run_file(run)
    if identity is not None and identity.uid:
        return identity.uid
    created_ns = identity.created_ns if identity is not None else 0
    return f"{created_ns} {inode} {ctime_ns}"


_settled_evidence = functools.lru_cache(maxsize=256)(_of_run_file)
"""Cached, because live views call it up to 40 times a second and reading takes about 0.1 ms."""


def _first_event(run: Path) -> str:
    events = [*launcher_files(run), *(folder.events for folder in worker_folders(run))]
    for path in events:
        try:
            with open_file(path) as opened:
                head = opened.read(_HEAD_BYTES)
        except (FileNotFoundError, RefusedFileError):
            continue
        # An incomplete first line would change the identity once it is complete.
        if b"\n" in head or len(head) == _HEAD_BYTES:
            return head.partition(b"\n")[0].decode(errors="replace")
    return ""
