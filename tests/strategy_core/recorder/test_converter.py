"""The helper process: its answers, its death, Ctrl-C, and that it never outlives its worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from strategy_core.recorder.converter import Converter, prepare
from strategy_profiles.capture.helper import Job
from tests.processes import children_of, is_living
from tests.profiles.capture.xspace_builder import CaptureBuilder
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.run


def _job(folder: Path, number: int) -> Job:
    capture = CaptureBuilder()
    capture.step(number, 0, 100)
    path = folder / f"{number}.xplane.pb"
    path.write_bytes(capture.serialized())
    return Job(number, str(path), None, str(folder / f"window-{number}"), 0, 0, ["/device:CPU:0"])


def test_jobs_are_answered_in_order_and_a_failed_job_does_not_affect_others(tmp_path: Path) -> None:
    converter = Converter()
    for number in range(3):
        converter.submit(_job(tmp_path, number))
    (tmp_path / "1.xplane.pb").write_bytes(b"\xff\xff no capture")
    answers = converter.finish(MAX_WAIT_S)
    converter.close()
    assert [answer["number"] for answer in answers] == [0, 1, 2]
    assert [answer["error"] is None for answer in answers] == [True, False, True]
    assert "is not an XSpace message" in answers[1]["error"]
    assert pq.read_schema(tmp_path / "window-2" / "spans.parquet").names
    assert not (tmp_path / "window-1").exists()
    assert not list(tmp_path.glob(".*.part"))


def test_ctrl_c_does_not_end_the_helper(tmp_path: Path) -> None:
    converter = Converter()
    converter.submit(_job(tmp_path, 0))
    assert converter.finish(MAX_WAIT_S)[0]["error"] is None
    helper = _helper(os.getpid())
    helper.send_signal(signal.SIGINT)
    converter.submit(_job(tmp_path, 1))
    assert converter.finish(MAX_WAIT_S)[0]["error"] is None
    converter.close()
    assert not helper.is_running()


def test_a_spare_helper_is_used(tmp_path: Path) -> None:
    prepare()
    prepare()
    waiting = _helper(os.getpid())
    converter = Converter()
    converter.submit(_job(tmp_path, 0))
    assert _helper(os.getpid()) == waiting
    assert converter.finish(MAX_WAIT_S)[0]["error"] is None
    converter.close()
    assert not waiting.is_running()


def test_import_time_is_reported_once_and_only_for_a_helper_started_with_the_run(
    tmp_path: Path,
) -> None:
    late = Converter()
    late.submit(_job(tmp_path, 0))
    (answer,) = late.finish(MAX_WAIT_S)
    assert "import_ms" not in answer
    assert late.take_import_ms() > 10
    assert late.take_import_ms() == 0
    late.close()
    prepare()
    ready = Converter()
    ready.submit(_job(tmp_path, 1))
    assert ready.finish(MAX_WAIT_S)[0]["error"] is None
    assert ready.take_import_ms() == 0
    ready.close()


def test_a_dead_spare_helper_is_not_used(tmp_path: Path) -> None:
    prepare()
    waiting = _helper(os.getpid())
    waiting.kill()
    waiting.wait(MAX_WAIT_S)
    converter = Converter()
    converter.submit(_job(tmp_path, 0))
    assert converter.finish(MAX_WAIT_S)[0]["error"] is None
    converter.close()


def test_a_killed_helper_costs_one_window_and_a_new_one_converts_the_others(
    tmp_path: Path,
) -> None:
    converter = Converter()
    converter.warm_up()
    helper = _helper(os.getpid())
    helper.suspend()  # so that it cannot be done before it dies
    for number in range(3):
        converter.submit(_job(tmp_path, number))
    helper.kill()
    answers = converter.finish(MAX_WAIT_S)
    converter.close()
    assert [answer["number"] for answer in answers] == [0, 1, 2]
    assert "was killed by SIGKILL; the raw capture is kept" in answers[0]["error"]
    assert [answer["error"] for answer in answers[1:]] == [None, None]
    assert (tmp_path / "0.xplane.pb").exists()
    (note,) = converter.take_notes()
    assert note == (
        "The process that converts captures was killed by SIGKILL. Capture window 0 is lost. "
        "A new one is started."
    )


def test_a_stopped_helper_is_replaced_and_its_pipe_never_blocks(tmp_path: Path) -> None:
    converter = Converter()
    converter.warm_up()
    helper = _helper(os.getpid())
    helper.suspend()
    big = replace(_job(tmp_path, 0), devices=["/device:CPU:0" * 10] * 1000)
    for _ in range(3):  # more than the 64 kB that a pipe holds
        converter.submit(big)
    converter.submit(_job(tmp_path, 1))
    answers = converter.finish(MAX_WAIT_S)
    converter.close()
    assert "was stopped (SIGSTOP)" in answers[0]["error"]
    assert answers[-1] == answers[-1] | {"number": 1, "error": None}
    assert not is_living(helper.pid)


def test_a_helper_that_died_between_two_jobs_costs_no_window(tmp_path: Path) -> None:
    converter = Converter()
    converter.warm_up()
    helper = _helper(os.getpid())
    helper.kill()
    psutil.wait_procs([helper], timeout=MAX_WAIT_S)
    converter.submit(_job(tmp_path, 0))
    assert converter.finish(MAX_WAIT_S)[0]["error"] is None
    converter.close()
    assert "No capture is lost" in converter.take_notes()[0]


def test_the_helper_ends_with_its_worker() -> None:
    code = (
        "import time\n"
        "from strategy_core.recorder.converter import Converter\n"
        "converter = Converter(); converter.warm_up(); print('up', flush=True); time.sleep(3600)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        try:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "up\n"
            helper = _helper(worker.pid)
        finally:
            worker.kill()
    wait_until(lambda: not is_living(helper.pid))


def test_the_helper_ends_with_its_worker_even_if_a_forked_child_holds_its_pipe(
    tmp_path: Path,
) -> None:
    code = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from strategy_core.recorder.converter import Converter\n"
        "converter = Converter(); converter.warm_up()\n"
        "child = os.fork()\n"
        "if child: Path(sys.argv[1]).write_text(str(child)); print('up', flush=True)\n"
        "time.sleep(3600)"
    )
    child_file = tmp_path / "child"
    command = [sys.executable, "-c", code, str(child_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "up\n"
        helper = _helper(worker.pid)
        worker.kill()
        worker.wait(MAX_WAIT_S)
        child = psutil.Process(int(child_file.read_text()))
        try:
            wait_until(lambda: not is_living(helper.pid))
            assert child.is_running(), "it held the pipe all along"
        finally:
            child.kill()


def _helper(pid: int) -> psutil.Process:
    """The one helper of a process. A command line is empty for a moment after `exec`."""
    command = "strategy_profiles.capture.helper"
    wait_until(lambda: len(children_of(pid, command=command)) == 1)
    (helper,) = children_of(pid, command=command)
    return helper
