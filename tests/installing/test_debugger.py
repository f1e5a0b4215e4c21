"""A debugger stops at a line of the file that git has: the packages are plain folders."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.dockerfile_steps import REPOSITORY
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.slow
FILE = REPOSITORY / "app" / "strategy_app" / "__main__.py"


class Adapter:
    """The other side of the Debug Adapter Protocol."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._file: BinaryIO = connection.makefile("rb")
        self._number = 0

    def ask(self, command: str, **arguments: Any) -> None:
        self._number += 1
        request = {"type": "request", "command": command, "arguments": arguments}
        text = json.dumps(request | {"seq": self._number}).encode()
        self._connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))

    def messages(self) -> Iterator[dict[str, Any]]:
        while length := self._file.readline():
            self._file.readline()
            yield json.loads(self._file.read(int(length.split(b":")[1])))

    def until(self, kind: str, name: str) -> dict[str, Any]:
        """The next event or response of this name."""
        return next(
            each for each in self.messages() if each["type"] == kind and name in each.values()
        )


def test_a_breakpoint_in_the_page_is_hit(tmp_path: Path) -> None:
    lines = FILE.read_text("utf-8").splitlines()
    line = 1 + next(n for n, text in enumerate(lines) if "parse_arguments(argv)" in text)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(MAX_WAIT_S)
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        command = [sys.executable, "-Xfrozen_modules=off", "-m", "debugpy", "--connect", address]
        with subprocess.Popen(
            [*command, "--wait-for-client", "-m", "strategy_app", "--help"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
        ) as program:
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(MAX_WAIT_S)
                adapter = Adapter(connection)
                adapter.ask("initialize", adapterID="test")
                adapter.ask("attach")
                adapter.until("event", "initialized")
                breakpoints = [{"line": line}]
                adapter.ask("setBreakpoints", source={"path": str(FILE)}, breakpoints=breakpoints)
                adapter.ask("configurationDone")
                stopped = adapter.until("event", "stopped")["body"]
                adapter.ask("stackTrace", threadId=stopped["threadId"])
                frame = adapter.until("response", "stackTrace")["body"]["stackFrames"][0]
                adapter.ask("disconnect", terminateDebuggee=True)
            program.wait(MAX_WAIT_S)
    assert stopped["reason"] == "breakpoint"
    assert (frame["source"]["path"], frame["line"]) == (str(FILE), line)
