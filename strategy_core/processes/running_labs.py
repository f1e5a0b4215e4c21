"""Addresses of the labs that run as this user, for programs that would open a page of one.

A file per lab, which only the user may read: the address has the lab's token.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

from strategy_lab.profiles.run.liveness import is_alive, process_started_ns


@contextlib.contextmanager
def registered(runs: Path, address: str) -> Iterator[None]:
    """Have `address_of` find this process's lab meanwhile; without a place for it, it does not."""
    file = None
    pid = os.getpid()
    with contextlib.suppress(OSError):
        folder = _folder(os.environ)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder / f"lab-{socket.gethostname()}-{pid}.json"
        file.unlink(missing_ok=True)
        record = {"runs": str(runs.resolve()), "address": address}
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as opened:
            json.dump(record | {"pid": pid, "started_ns": process_started_ns(pid)}, opened)
    try:
        yield
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


def address_of(runs: Path) -> str | None:
    """Return the address, with its token, of a running lab for a folder of runs; None: none."""
    wanted = str(runs.resolve())
    for file in sorted(_folder(os.environ).glob(f"lab-{socket.gethostname()}-*.json")):
        try:
            if file.stat().st_uid != os.getuid():
                continue
            record = json.loads(file.read_text())
            if is_alive(record["pid"], record["started_ns"] or 0):
                if record["runs"] == wanted:
                    return str(record["address"])
            else:  # it was killed
                file.unlink(missing_ok=True)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _folder(environment: Mapping[str, str]) -> Path:
    """The system's folder for such files, or one in the home folder."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "strategy-lab"
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "strategy-lab"
