"""Processes that a fork server forks are as if each had been executed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import psutil
import pytest

from strategy_core.processes import fork_client
from strategy_core.processes.fork_client import ForkClient, ForkedProcess
from strategy_core.processes.spawner import worker_environment
from tests.processes import all_below, command_of, is_living
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")
PROGRAM = "tests.strategy_core.processes.forked_program"
NEVER_READY = "tests.strategy_core.processes.never_ready"


@pytest.fixture
def forks() -> Iterator[ForkClient]:
    client = started(PROGRAM)
    assert client.is_ready()
    yield client
    client.close()


def started(module: str) -> ForkClient:
    """A fork server at the end of its import."""
    has_ended = threading.Event()
    client = ForkClient(module, worker_environment(os.environ), has_ended.set)
    assert has_ended.wait(MAX_WAIT_S)
    return client


def fork(forks: ForkClient) -> tuple[ForkedProcess, BinaryIO, int, dict[str, Any]]:
    """A new process, and what it says it finds."""
    child, stderr, pid = forks.fork(["--one"], (), os.environ | {"OF_THE_TEST": "1"})
    return child, stderr, pid, json.loads(child.stdout.readline())


def end(child: ForkedProcess, how: str) -> int:
    child.stdin.write(f"{how}\n".encode())
    child.stdin.flush()
    return child.wait(MAX_WAIT_S)


def test_a_fork_has_its_arguments_environment_and_folder(
    forks: ForkClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    child, _, pid, document = fork(forks)
    assert document["argv"] == ["--one", "--parent", str(child.pid)]
    assert psutil.Process(pid).ppid() == child.pid
    assert (document["variable"], document["folder"]) == ("1", str(tmp_path))
    assert (document["threads"], document["session"]) == (1, True)
    assert child.poll() is None
    assert end(child, "0") == 0


@pytest.mark.parametrize(("how", "code"), [("0", 0), ("7", 7), ("signal", -signal.SIGSEGV)])
def test_the_end_of_a_fork_is_known(forks: ForkClient, how: str, code: int) -> None:
    child, _, pid, _ = fork(forks)
    assert end(child, how) == code == child.poll()
    assert not is_living(pid)


def test_an_error_of_a_fork_is_in_its_stderr(forks: ForkClient) -> None:
    child, stderr, _, _ = fork(forks)
    assert end(child, "error") == 1
    stderr.seek(0)
    assert stderr.read().endswith(b"ValueError: as asked\n")


def test_forks_draw_different_random_numbers(forks: ForkClient) -> None:
    """They have the state of one import: without new seeds all would draw the same numbers."""
    children = [fork(forks) for _ in range(3)]
    assert len({facts["number"] for _, _, _, facts in children}) == 3
    assert [end(child, "0") for child, _, _, _ in children] == [0, 0, 0]


def test_a_killed_reaper_takes_its_worker_along(forks: ForkClient) -> None:
    child, _, pid, _ = fork(forks)
    child.kill()
    assert child.wait(MAX_WAIT_S) == -signal.SIGKILL
    wait_until(lambda: not is_living(pid))
    assert end(fork(forks)[0], "0") == 0, "the server goes on"


def test_a_sigterm_to_all_leaves_the_server_and_reaches_the_worker(forks: ForkClient) -> None:
    """What ends a job signals each of its processes. The launcher decides what ends."""
    child, _, _, _ = fork(forks)
    reaper = psutil.Process(child.pid)
    reaper.parent().terminate()  # type: ignore[union-attr]
    assert child.poll() is None
    reaper.terminate()
    assert child.wait(MAX_WAIT_S) == -signal.SIGTERM
    assert end(fork(forks)[0], "0") == 0


def test_forks_end_with_their_server(forks: ForkClient) -> None:
    child, _, pid, _ = fork(forks)
    psutil.Process(child.pid).parent().kill()  # type: ignore[union-attr]
    child.wait(MAX_WAIT_S)
    wait_until(lambda: not is_living(pid))
    assert forks.may_be_replaced()
    with pytest.raises(OSError, match=r"Broken pipe|ended before it began|reset by peer"):
        forks.fork([], (), os.environ)


def test_a_stopped_server_is_asked_once(forks: ForkClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for it is a run's start. The workers that it has forked go on."""
    child, _, pid, _ = fork(forks)
    server = psutil.Process(child.pid).parent()
    assert server is not None
    monkeypatch.setattr(fork_client, "_FORKED_WITHIN_S", 0.2)
    server.suspend()
    with pytest.raises(TimeoutError):
        forks.fork([], (), os.environ)
    assert (forks.is_ready(), forks.may_be_replaced()) == (False, True)
    assert "did not answer within 0.2 s" in str(forks.take_note())
    assert forks.take_note() is None
    assert forks.has_living_forks()
    assert is_living(pid)
    # It takes the request now. The fork finds its pipes closed, and ends.
    server.resume()
    wait_until(lambda: [each.pid for each in server.children()] == [child.pid])
    assert end(child, "0") == 0
    assert not forks.has_living_forks()


def test_a_server_that_is_stopped_during_its_import_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fork_client, "_IMPORTED_WITHIN_S", 0.1)
    client = started(NEVER_READY)
    assert (client.state, client.is_ready(), client.may_be_replaced()) == ("gone", False, False)
    wait_until(lambda: not any(NEVER_READY in command_of(each) for each in all_below()))
    client.close()


def test_waiting_for_a_fork_has_a_limit(forks: ForkClient) -> None:
    child, _, _, _ = fork(forks)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.0)
    assert end(child, "0") == 0


def test_a_module_that_cannot_be_imported_is_noticed() -> None:
    client = started("tests.strategy_core.processes.no_such_module")
    assert (client.state, client.is_ready(), client.may_be_replaced()) == ("gone", False, False)
    client.close()
