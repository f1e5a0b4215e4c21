"""Does no step follow any more, and at which line is each worker?

A worker of a run that is not finished is stuck if its last step ended many times the usual step ago
and it is still within its loop. A thread of its own goes on sampling its stack, so the line is
known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.regions import samples_of_loop
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import StackPlace
from strategy_profiles.run.layout import WorkerFolder, worker_folders
from strategy_profiles.run.stacks import read_stacks

if TYPE_CHECKING:
    from strategy_profiles.run.event_files import EventSource
    from strategy_profiles.tables.store import Profile

SHORTEST_MS = 5000.0
USUAL_TIMES = 20.0
_IN_TENSORFLOW = (
    *("function", "op", "call", "input", "host-read", "tracing", "epoch-start", "workers"),
)


class Stuck(Struct, frozen=True):
    """A worker without a further step."""

    worker: int
    for_ms: float
    usual_ms: float
    place: StackPlace

    @property
    def is_waiting(self) -> bool:
        """Whether it is in a call of TensorFlow, which may wait for others."""
        return self.place.doing in _IN_TENSORFLOW


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
        for stuck in _of_worker(source, folder)
    ]
    return tuple(sorted(workers, key=lambda item: (item.is_waiting, item.worker)))


def _of_worker(source: EventSource, folder: WorkerFolder) -> Iterator[Stuck]:
    steps, stacks = source.steps, read_stacks(folder)
    if not len(steps) or not stacks.count:
        return
    start_ns = np.asarray(steps.start_ns, np.int64)
    wall_ms = np.asarray(steps.wall_ms, np.float64)
    order = np.argsort(start_ns, kind="stable")
    start_ns, wall_ms = start_ns[order], wall_ms[order]
    end_ns = start_ns + (wall_ms * 1e6).astype(np.int64)
    usual_ms = float(np.median(wall_ms))
    for_ms = (int(stacks.at_ns[-1]) - int(end_ns.max())) / 1e6
    if for_ms < max(SHORTEST_MS, USUAL_TIMES * usual_ms):
        return
    if samples_of_loop(stacks, start_ns, end_ns)[-1]:
        yield Stuck(folder.worker, for_ms, usual_ms, stacks.places[int(stacks.place[-1])])


def stuck_sentence(stuck: tuple[Stuck, ...]) -> str:
    """Which worker is at which line; empty without a stuck worker."""
    if not stuck:
        return ""
    longest = max(stuck, key=lambda item: item.for_ms)
    several = len({item.worker for item in stuck}) > 1
    each = ", ".join(_where(item, several=several) for item in stuck)
    return (
        f"No step for {units.seconds(longest.for_ms / 1e3)}, a usual one takes "
        f"{units.milliseconds(longest.usual_ms)}: {each}."
    )


def _where(item: Stuck, *, several: bool) -> str:
    who = f"worker {item.worker}" if several else "the program"
    does = "waits" if item.is_waiting else "is"
    if not item.place.frames:
        return f"{who} {does} in a library"
    frame = item.place.frames[-1]
    text = f" (`{frame.text}`)" if frame.text else ""
    return f"{who} {does} at {frame.file.rpartition('/')[2]}:{frame.line}{text}"
