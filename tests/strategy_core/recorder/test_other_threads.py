"""Python threads that compute beside the one that trains, by the system's count."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from strategy_core.recorder.other_threads import LEAST_US, OtherThreads
from strategy_core.recorder.stack_roles import role_of

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the system counts no time of threads"
)


def _count(until: threading.Event) -> None:
    while not until.is_set():
        sum(range(1000))


def _wait(until: threading.Event) -> None:
    until.wait()


@contextmanager
def _running(function: object) -> Iterator[threading.Thread]:
    until = threading.Event()
    thread = threading.Thread(target=function, args=(until,), daemon=True)  # type: ignore[arg-type]
    thread.start()
    yield thread
    until.set()
    thread.join()


def test_a_thread_that_computes_is_named_by_its_function() -> None:
    others = OtherThreads(role_of)
    with _running(_count) as busy, _running(_wait) as waiting:
        time.sleep(20 * LEAST_US / 1e6)
        found = others.since_last_look(sys._current_frames(), {threading.get_ident()})
        assert [each.name for each in found] == [busy.name]
        assert found[0].line.function == "_count"
        assert found[0].cpu_us >= LEAST_US
        assert waiting.is_alive()
        left_out = others.since_last_look(sys._current_frames(), {busy.ident})
        assert busy.name not in [each.name for each in left_out]


def test_lines_of_the_program_in_threads_of_tensorflow_are_counted() -> None:
    """A thread that `threading` did not start has only what an op runs on its stack."""
    others, until = OtherThreads(role_of), threading.Event()
    thread = _thread.start_new_thread(_count, (until,))
    with _running(_count):
        for _ in range(3):
            time.sleep(LEAST_US / 1e6)
            others.look_into_ops(sys._current_frames(), {threading.get_ident()})
        others.look_into_ops(sys._current_frames(), {threading.get_ident(), thread})
    until.set()
    lines = others.in_ops()
    assert sum(each.num_samples for each in lines) == 3
    assert {each.line.function for each in lines} == {"_count"}
    assert others.in_ops() == []


def test_without_the_systems_count_there_is_no_thread(tmp_path: Path) -> None:
    others = OtherThreads(role_of, tasks=tmp_path)
    with _running(_count):
        assert others.since_last_look(sys._current_frames(), ()) == []
