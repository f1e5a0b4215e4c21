"""The process that outlives a launcher by a moment, and ends what its workers had started.

`python -m strategy_core.processes.orphan_cleanup MARK` waits for the end of stdin, which only the
launcher holds open: however that dies, `kill -9` included, the family of MARK is ended (see
`family`). The kernel ends the workers themselves at once (see `lifeline`), but not what their
user's code started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from strategy_core.processes.descendants import end_descendants, without_mark
from strategy_core.processes.import_path import module_command, with_own_code

_CLOSING_S = 10.0


class OrphanCleanup:
    """The launcher's end of it."""

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
        """Have the family ended, and wait until it is."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_CLOSING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it has its own end: the launcher's
    sys.stdin.buffer.read()
    end_descendants(sys.argv[1])


if __name__ == "__main__":
    main()
