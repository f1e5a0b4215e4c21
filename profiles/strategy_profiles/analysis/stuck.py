"""Did steps cease before the loop was over, and at which line was each worker then?

A worker of a run that is not finished is stuck if it stays within its loop after its last step for
many times as long as ever before. A thread of its own goes on sampling its stack, so the line is
known. It was stuck if the run was then ended: what it does while it ends is outside of the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.regions import last_without_step
from strategy_profiles.reporting import units
from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.event_parts import StackFrame, StackPlace
from strategy_profiles.run.layout import WorkerFolder, worker_folders
from strategy_profiles.run.stacks import Stacks, read_stacks
from strategy_profiles.tables.store import Profile, once

_IN_TENSORFLOW = (
    *("function", "op", "call", "input", "host-read", "tracing", "epoch-start", "workers"),
)


class Stuck(Struct, frozen=True):
    """A worker without a further step."""

    worker: int
    for_ms: float
    usual_ms: float
    place: StackPlace
    in_data: StackFrame | None = None
    """Where the Python is that its dataset runs, if it runs any."""

    @property
    def is_waiting(self) -> bool:
        """Whether it is in a call of TensorFlow, which may wait for others."""
        return self.place.doing in _IN_TENSORFLOW


@once
def stuck_workers(profile: Profile) -> tuple[Stuck, ...]:
    """The stuck workers, those first that do not wait in a call of TensorFlow."""
    if profile.status.state == "finished" or not profile.path.is_dir():
        return ()
    folders: dict[tuple[int | None, int | None], WorkerFolder] = {
        (each.worker, each.generation): each for each in worker_folders(profile.path)
    }
    workers = [
        stuck
        for source in profile.sources
        if (folder := folders.get((source.worker, source.generation))) is not None
        for stuck in _of_worker(source, folder, is_over=profile.status.is_over)
    ]
    return tuple(sorted(workers, key=lambda item: (item.is_waiting, item.worker)))


def _of_worker(source: EventSource, folder: WorkerFolder, *, is_over: bool) -> Iterator[Stuck]:
    steps, stacks = source.steps, read_stacks(folder)
    if not len(steps) or not stacks.count:
        return
    start_ns = np.asarray(steps.start_ns, np.int64)
    wall_ms = np.asarray(steps.wall_ms, np.float64)
    order = np.argsort(start_ns, kind="stable")
    start_ns, wall_ms = start_ns[order], wall_ms[order]
    last = last_without_step(stacks, start_ns, wall_ms, is_over=is_over)
    if last is not None:
        over_ns = int((start_ns + wall_ms * 1e6).max())
        for_ms, usual_ms = (int(stacks.at_ns[last]) - over_ns) / 1e6, float(np.median(wall_ms))
        place = stacks.places[int(stacks.place[last])]
        yield Stuck(folder.worker, for_ms, usual_ms, place, _in_data(stacks, over_ns))


def _in_data(stacks: Stacks, since_ns: int) -> StackFrame | None:
    """The line of the program that its ops were at in most samples since a time."""
    recent = [each for each in stacks.threads[-2:] if each.end_ns > since_ns]
    used = [each for threads in recent for each in threads.in_ops]
    last = max(used, key=lambda each: each.num_samples, default=None)
    return last.line if last else None


def stuck_sentence(stuck: Sequence[Stuck]) -> str:
    """Which worker is at which line, of one stuck worker or more."""
    longest = max(stuck, key=lambda item: item.for_ms)
    several = len({item.worker for item in stuck}) > 1
    each = ", ".join(_where(item, several=several) for item in stuck)
    return (
        f"No step for {units.seconds(longest.for_ms / 1e3)}, a usual one takes "
        f"{units.milliseconds(longest.usual_ms)}: {each}."
    )


def stuck_advice(stuck: Sequence[Stuck]) -> str:
    """Where to look further."""
    at_work = [f"worker {item.worker}" for item in stuck if not item.is_waiting]
    if any(item.in_data for item in stuck):
        first = "Look at what the Python of the dataset waits for"
    elif len(stuck) == 1 and stuck[0].is_waiting:
        first = "Look at what this call waits for: its dataset, a file, another process"
    elif len(stuck) == 1:
        first = "Look at what this line waits for: a lock, a queue, a file, another process"
    elif at_work:
        who = units.listed(at_work)
        first = f"Look at the line of {who} first: the others wait until it does its step, too"
    else:
        first = (
            "Look whether all workers call the same collectives in the same order, and whether one "
            "of their processes has ended"
        )
    return f"{first}. While no step comes, `py-spy dump --pid PID` prints where every thread is."


def _where(item: Stuck, *, several: bool) -> str:
    who = f"worker {item.worker}" if several else "the program"
    does = "waits" if item.is_waiting else "is"
    data = f", its dataset is {_at(item.in_data)}" if item.in_data else ""
    if not item.place.frames:
        return f"{who} {does} in a library{data}"
    return f"{who} {does} {_at(item.place.frames[-1])}{data}"


def _at(frame: StackFrame) -> str:
    text = f" (`{frame.text}`)" if frame.text else ""
    return f"at {frame.place}{text}"
