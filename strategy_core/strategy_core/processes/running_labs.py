"""Labs that run as this user: how a program finds the address of one, or starts one.

Each lab has a file that only the user may read: its address contains the token.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles.decoders import decoder_of
from strategy_profiles.guards import read_file
from strategy_profiles.run.liveness import clock_ahead_ns, is_alive, process_started_ns

HOST = "127.0.0.1"
_MOST_BYTES = 1 << 16
_RECORD = decoder_of(dict[str, Any])
TOKEN_VARIABLE = "STRATEGY_LAB_TOKEN"
"""Environment variable with a token of the user's choice, for containers and CI."""


@contextlib.contextmanager
def registered(runs: Path, address: str) -> Iterator[None]:
    """Have `address_of` find this process's lab meanwhile; without a place for it, it does not."""
    file = None
    pid = os.getpid()
    with contextlib.suppress(OSError):
        folder = runtime_folder(os.environ)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder / f"lab-{socket.gethostname()}-{pid}.json"
        file.unlink(missing_ok=True)
        record = {
            "runs": str(runs.resolve()),
            "address": address,
            "pid": pid,
            "started_ns": process_started_ns(pid),
            "clock_ahead_ns": clock_ahead_ns(),
        }
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as opened:
            json.dump(record, opened)
    try:
        yield
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


def address_of(runs: Path) -> str | None:
    """Return the address, with its token, of a running lab for a folder of runs; None: none."""
    wanted = str(runs.resolve())
    for file in sorted(runtime_folder(os.environ).glob(f"lab-{socket.gethostname()}-*.json")):
        try:
            if file.stat().st_uid != os.getuid():
                continue
            record = _RECORD.decode(read_file(file, _MOST_BYTES))
            started_ns = record["started_ns"] or 0
            if is_alive(record["pid"], started_ns, record.get("clock_ahead_ns")):
                if record["runs"] == wanted:
                    return str(record["address"])
            else:  # it was killed
                file.unlink(missing_ok=True)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def page_of_process(pid: int) -> str | None:
    """Return the address, without its token, of the lab of a process; None if that is no lab."""
    file = runtime_folder(os.environ) / f"lab-{socket.gethostname()}-{pid}.json"
    try:
        address = str(_RECORD.decode(read_file(file, _MOST_BYTES))["address"])
    except (OSError, ValueError, KeyError):
        return None
    return address.partition("?")[0].rstrip("/")


def page_of(run: Path, page: str) -> str | None:
    """Return the address of a run's page in a running lab; None if no lab runs for its folder.

    It has no token: a browser that has opened this lab has its cookie, others are asked for the
    token.
    """
    address = address_of(run.resolve().parent)
    if address is None:
        return None
    base = address.partition("?")[0].rstrip("/")
    return f"{base}/{page}?{urlencode({'run': run.name})}"


def start_server(runs: Path, port: int, options: Sequence[str] = ()) -> str:
    """Start a lab for a folder of runs, and return its address with the token.

    It ends after this process does, unless a page is open. It is in a session of its own, so that
    Ctrl-C ends this process alone.
    """
    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(32)
    command = [*module_command("strategy_app"), "--host", HOST, "--port", str(port)]
    subprocess.Popen(
        [*command, "--runs", str(runs.resolve()), "--beside", str(os.getpid()), *options],
        env=with_own_code(os.environ) | {TOKEN_VARIABLE: token},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return f"http://{HOST}:{port}/?{urlencode({'token': token})}"


def runtime_folder(environment: Mapping[str, str]) -> Path:
    """The system's folder for such files, or one in the home folder."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "strategy-lab"
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "strategy-lab"
