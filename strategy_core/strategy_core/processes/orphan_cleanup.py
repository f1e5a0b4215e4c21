"""A process that ends what the workers of a launcher have started, once that launcher has ended.

`python -m strategy_core.processes.orphan_cleanup MARK` waits for the end of stdin, whose write end
only the launcher holds. That end comes however the launcher dies, `kill -9` included. Then the
workers have a while to save the state of their run (`command_reader`), after which all processes
that carry MARK are killed (see `descendants`), and the temporary files of the workers are removed.
A launcher that closes in order says so first: the workers are ended at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

from strategy_core.processes.descendants import (
    end_descendants,
    members,
    remove_marked_files,
    without_mark,
)
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_core.processes.timeouts import ORPHAN_S

_CLOSING_S = 10.0
_LOOK_EVERY_S = 0.5
_AT_ONCE = b"at once"


class OrphanCleanup:
    """Starts and ends the cleanup process, for the launcher."""

    def __init__(self, mark: str) -> None:
        self._process = subprocess.Popen(
            [*module_command("strategy_core.processes.orphan_cleanup"), mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=with_own_code(without_mark(os.environ)),
            start_new_session=True,
        )

    def close(self) -> None:
        """End all processes with the mark, and wait until they have ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it was killed
            self._process.stdin.write(_AT_ONCE)
            self._process.stdin.close()
        try:
            self._process.wait(_CLOSING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends after the launcher, not with it
    mark = sys.argv[1]
    if sys.stdin.buffer.read() != _AT_ONCE:
        deadline = time.monotonic() + ORPHAN_S
        while any(members(mark)) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
    end_descendants(mark)
    remove_marked_files(mark)


if __name__ == "__main__":
    main()
