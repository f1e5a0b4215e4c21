"""What a benchmark leaves behind when it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import is_living
from tests.timeouts import wait_until

SCRIPT = """
import sys, time
from pathlib import Path
from tests.server_process import server_process

with server_process(Path(sys.argv[1]), "--runs", sys.argv[2]) as server:
    print(server.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.long(keep=1)
@pytest.mark.run
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_lab_of_a_script_that_is_killed_ends_too(tmp_path: Path, how: signal.Signals) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "log"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as script:
        assert script.stdout is not None
        server = int(script.stdout.readline())
        assert is_living(server)
        script.send_signal(how)
    try:
        wait_until(lambda: not is_living(server))
    finally:
        if is_living(server):
            os.kill(server, signal.SIGKILL)
