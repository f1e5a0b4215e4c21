"""Blocks of steps of several contestants in turns, timed by the wall and by the processor.

Where processes outnumber cores the wall's time is everybody's; the processor time of all that
take part is what a contestant itself has used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import psutil

Step = Callable[[], object]
Blocks = dict[str, list[tuple[float, float]]]
"""By contestant the (wall, processor) seconds of each of its blocks."""


def in_turns(
    contestants: Mapping[str, Step],
    *,
    rounds: int,
    steps: int,
    processes: Iterable[int] = (),
    before: Callable[[str], Any] = lambda _name: None,
) -> Blocks:
    """`steps` calls of each contestant, `rounds` times: forwards, backwards, forwards, ...

    What one leaves behind (a conversion that still goes on) meets another one each time.

    Args:
      processes: pids whose processor time counts beside this process's own.
      before: called with a contestant's name before each of its blocks.
    """
    others = [psutil.Process(pid) for pid in processes]
    of_contestants: Blocks = {name: [] for name in contestants}
    order = list(contestants.items())
    for _ in range(rounds):
        for name, step in order:
            before(name)
            began, began_cpu = time.monotonic(), _cpu_s(others)
            for _ in range(steps):
                step()
            of_contestants[name].append((time.monotonic() - began, _cpu_s(others) - began_cpu))
        order.reverse()
    return of_contestants


def children_s() -> float:
    """Processor time that the living children of this process have used so far."""
    return _sum_s(psutil.Process().children(recursive=True))


def _cpu_s(others: Iterable[psutil.Process]) -> float:
    return time.process_time() + _sum_s(others)


def _sum_s(processes: Iterable[psutil.Process]) -> float:
    every = [process.cpu_times() for process in processes]
    return float(sum(times.user + times.system for times in every))
