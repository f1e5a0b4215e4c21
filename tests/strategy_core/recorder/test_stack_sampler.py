"""The sampler of the thread that trains: what it writes, that it ends, and what it costs."""

from __future__ import annotations

import argparse
import ast
import asyncio.base_events
import hashlib
import inspect
import os
import random
import sys
import textwrap
import threading
import time
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from strategy_core.recorder import stack_sampler
from strategy_core.recorder.stack_sampler import Stack, StackSampler, outermost_loops
from strategy_core.runtime import kept_lock
from strategy_profiles.run.layout import WorkerFolder
from strategy_profiles.run.stacks import read_stacks

STACK = Stack("python", "", "", (("train.py", 3, "main"),))


def _busy(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def _as_long_as(seconds: float, call: Callable[[int], object]) -> int:
    """The number with which a call takes so long on this machine, the shortest of three times."""
    number = 1000
    while (took_s := min(_took_s(call, number) for _ in range(3))) < seconds:
        number = round(number * min(4.0, 1.1 * seconds / took_s))
    return number


def _took_s(call: Callable[[int], object], number: int) -> float:
    begun = time.perf_counter()
    call(number)
    return time.perf_counter() - begun


def _doubled(numbers: int) -> int:
    return sum(number * 2 for number in range(numbers))


def _sampled(folder: Path) -> WorkerFolder:
    worker = WorkerFolder(folder / "worker-0-0", 0, 0)
    sampler = StackSampler(1)
    sampler.start()
    sampler.write_to(worker.stacks)
    while sampler._num_recorded < 8:  # samples are rarer on a busy machine
        _busy(0.6)
    sampler.stop()
    return worker


def test_the_line_that_takes_the_time_is_the_one_that_is_sampled(tmp_path: Path) -> None:
    stacks = read_stacks(_sampled(tmp_path))
    assert stacks.count >= 5
    inside = [
        any(frame.function.endswith("_busy") for frame in stacks.places[place].frames)
        for place in stacks.place
    ]
    assert sum(inside) >= 0.8 * stacks.count
    assert stacks.program_ns == 1


def test_a_short_call_that_lets_the_lock_go_has_no_more_than_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as `tf.constant`, after 0.6 ms of Python. The sampler needs the lock for a sample."""
    monkeypatch.setattr(stack_sampler, "AT_FIRST_S", 0.015)
    data = bytes(_as_long_as(0.0003, lambda number: hashlib.sha256(bytes(number))))
    numbers = _as_long_as(0.0006, _doubled)
    worker = WorkerFolder(tmp_path / "worker-0-0", 0, 0)
    sampler = StackSampler(1)
    sampler.start()
    sampler.write_to(worker.stacks)
    calls_s, begun = 0.0, time.monotonic()
    while time.monotonic() < begun + 4.0:
        _doubled(numbers)
        called = time.monotonic()
        hashlib.sha256(data)  # lets the lock go
        calls_s += time.monotonic() - called
    share = calls_s / (time.monotonic() - begun)
    sampler.stop()
    stacks = read_stacks(worker)
    texts = [stacks.places[place].frames[-1].text for place in stacks.place]
    is_call = [text.startswith("hashlib") for text in texts]
    assert stacks.for_ms[is_call].sum() / stacks.for_ms.sum() == pytest.approx(share, abs=0.25)


@pytest.mark.parametrize("others", [0, 2], ids=["alone", "beside others"])
def test_a_call_that_keeps_the_interpreters_lock_has_its_time(tmp_path: Path, others: int) -> None:
    """Also if another thread of the lab's gets the lock before the sampler."""
    worker = WorkerFolder(tmp_path / "worker-0-0", 0, 0)
    over, numbers = threading.Event(), _as_long_as(0.2, lambda each: sum(range(each)))

    def waits() -> None:
        while not kept_lock.wait(over, 0.05):
            pass

    threads = [threading.Thread(target=waits) for _ in range(others)]
    for thread in threads:
        thread.start()
    sampler = StackSampler(1)
    sampler.start()
    sampler.write_to(worker.stacks)
    end = time.monotonic() + 4.0
    while time.monotonic() < end:
        sum(range(numbers))  # in C, without a look at who waits for the lock
        time.sleep(0.005)
    sampler.stop()
    over.set()
    for thread in threads:
        thread.join()
    stacks = read_stacks(worker)
    texts = [stacks.places[place].frames[-1].text for place in stacks.place]
    kept = [text.startswith("sum(range(numbers))") for text in texts]
    assert stacks.for_ms[kept].sum() >= 0.9 * stacks.for_ms.sum()


def test_what_follows_a_call_that_keeps_the_lock_has_its_time_too() -> None:
    """Steps of 200 ms: 10 ms of one line, 30 ms of another, and 160 ms of a call that keeps the
    lock, so that a sample that is due in it comes at its end."""
    now_ns = 0
    sampler = StackSampler(1, now_ns=lambda: now_ns)
    sampler._path = Path("unused")
    choose = random.Random(1)
    for _ in range(4000):
        now_ns += round(sampler._chosen_wait_s(choose) * 1e9)
        in_step = now_ns % 200_000_000
        line = 1 if in_step < 10_000_000 else 2 if in_step < 40_000_000 else 3
        late_ns = 200_000_000 - in_step if line == 3 else 0
        now_ns += late_ns
        stack = STACK._replace(lines=(("train.py", line, "main"),))
        sampler._add(stack, now_ns, late_ns // 1000)
    counts_us = np.bincount(sampler._place, sampler._counts_us())
    line_of = [stack.lines[0][1] for stack in sampler._stacks]
    shares = {line: us / counts_us.sum() for line, us in zip(line_of, counts_us, strict=True)}
    assert shares[1] == pytest.approx(0.05, abs=0.01)
    assert shares[2] == pytest.approx(0.15, abs=0.02)
    assert counts_us.sum() == pytest.approx(sum(sampler._after_us), rel=0.001)


def test_the_source_of_the_program_is_kept(tmp_path: Path) -> None:
    sources = read_stacks(_sampled(tmp_path)).sources
    assert sources[__file__] == Path(__file__).read_text()


def test_large_source_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_sampler, "_MOST_SOURCE", 100)
    assert __file__ not in read_stacks(_sampled(tmp_path)).sources


def test_samples_count_for_the_whole_time(tmp_path: Path) -> None:
    stacks = read_stacks(_sampled(tmp_path))
    assert 400 < stacks.for_ms.sum() < 5000


def test_the_interval_of_the_program_stays_as_it_was(tmp_path: Path) -> None:
    before = sys.getswitchinterval()
    _sampled(tmp_path)
    assert sys.getswitchinterval() == before


def test_no_thread_is_left_after_the_end(tmp_path: Path) -> None:
    _sampled(tmp_path)
    assert not [each for each in threading.enumerate() if each.name == "stack-sampler"]


def test_a_forked_child_stops_without_the_thread_that_it_lacks() -> None:
    sampler = StackSampler(1)
    sampler.start()
    child = os.fork()
    if not child:
        sampler.stop()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    sampler.stop()


def test_only_the_outermost_loops_of_a_function_are_kept(tmp_path: Path) -> None:
    source = tmp_path / "train.py"
    source.write_text("for e in x:\n  for b in y:\n    f()\ndef g():\n  while True:\n    h()\n")
    loops = [(loop.first, loop.last) for loop in outermost_loops(str(source))]
    assert loops == [(1, 3), (5, 6)]


def _loops_of_tree(node: ast.AST) -> Iterator[tuple[int, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.For | ast.While | ast.AsyncFor):
            yield child.lineno, child.end_lineno or 0
        else:
            yield from _loops_of_tree(child)


@pytest.mark.parametrize("module", [argparse, asyncio.base_events, inspect, textwrap, tokenize])
def test_loops_are_those_of_the_syntax_tree(module: ModuleType) -> None:
    """The sampler does without one, which another thread's call of `ast.parse` would break."""
    file = str(module.__file__)
    loops = [(loop.first, loop.last) for loop in outermost_loops(file)]
    assert loops == list(_loops_of_tree(ast.parse(Path(file).read_text("utf-8"))))


def test_a_file_that_is_no_python_has_no_loops(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text("for x in (")
    assert not list(outermost_loops(str(tmp_path / "odd.py")))


def test_a_program_that_does_not_train_for_long_keeps_few_samples() -> None:
    now_ns = iter(range(0, 10**15, 10**8))
    sampler = StackSampler(1, now_ns=lambda: next(now_ns))
    for _ in range(50_000):
        sampler._add(STACK, next(now_ns))
    assert len(sampler._place) < 20_000
    assert sum(sampler._after_us) == sampler._last_ns // 1000


def test_an_error_of_the_sampling_is_handed_over_and_ends_it() -> None:
    errors: list[Exception] = []
    sampler = StackSampler(1, failed=errors.append)
    sampler.look = lambda *_, **__: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    sampler.start()
    sampler._sampler.join(5)
    assert [type(error) for error in errors] == [ZeroDivisionError]
    sampler.stop()


def test_the_lines_around_a_sampled_one_are_kept_once(tmp_path: Path) -> None:
    stacks = read_stacks(_sampled(tmp_path))
    own = [line for file, line in stacks.around if file == __file__]
    text = Path(__file__).read_text().splitlines()
    assert "        sum(range(1000))" in stacks.around.values()
    assert all(stacks.around[__file__, line] == text[line - 1] for line in own)
    assert len(own) == len(set(own))


def test_a_sample_has_the_workers_that_do_a_step_of_a_coordinator_meanwhile() -> None:
    over = threading.Event()

    def _process_closure() -> None:
        over.wait()

    threads = [
        threading.Thread(target=target, name=f"WorkerClosureProcessingLoop-{number}")
        for number, target in enumerate((over.wait, _process_closure))
    ]
    sampler = StackSampler(1)
    for thread in threads:
        thread.start()
    sampler._find_workers()
    sampler.look()
    over.set()
    for thread in threads:
        thread.join()
    sampler._find_workers()
    sampler.look()
    assert [stack.busy for stack in sampler._stacks] == [(1,), ()]
