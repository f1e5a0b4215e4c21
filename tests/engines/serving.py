"""Another program's server, as a process beside the test."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.timeouts import wait_until


@contextmanager
def serving(
    command: Sequence[str],
    probe: str,
    log: Path,
    *,
    environment: Mapping[str, str] = os.environ,
    folder: Path | None = None,
) -> Iterator[None]:
    """Run a server until the end of the block, which begins once the address `probe` is answered.

    The server and its own processes are a session of their own, which SIGTERM ends.
    """
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=file, stderr=file, start_new_session=True
        )
    try:
        wait_until(lambda: _answers(probe))
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def _answers(address: str) -> bool:
    try:
        return requests.get(address, timeout=60).ok
    except requests.RequestException:
        return False
