"""Tracks: a process per replica (per worker if there are several), a thread per lane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

TraceEvent = dict[str, Any]

RUN_PID = 1
"""The process for data of the whole run: steps, segments, counters."""

REPLICA_TIDS = 100_000
"""The number of thread ids that are reserved for each replica of a worker."""
MAX_REPLICAS = 10_000


@dataclass(frozen=True, slots=True)
class Track:
    """The process and thread of an event."""

    pid: int
    tid: int


@dataclass(slots=True)
class Tracks:
    """Assigns process and thread ids to workers, replicas and lanes, in display order."""

    by_worker: bool = False
    """If true, a process is a worker, and each of its replicas is a group of threads."""
    titles: Mapping[int, str] = field(default_factory=dict)
    """Display names of the run's processes; `worker N` by default."""
    _processes: dict[tuple[int, int | None], int] = field(default_factory=dict)
    _process_names: dict[int, str] = field(default_factory=dict)
    _threads: dict[Track, str] = field(default_factory=dict)

    def of_run(self, tid: int, name: str) -> Track:
        """Return a track of the whole run."""
        self._process_names[RUN_PID] = "Run"
        return self._named(Track(RUN_PID, tid), name)

    def add_replica(self, worker: int, replica: int | None, device: str | None) -> None:
        """Reserve ids for a replica; None is for what a worker does for all its replicas."""
        key = (worker, None if self.by_worker else replica)
        pid = self._processes.setdefault(key, RUN_PID + 1 + len(self._processes))
        name = self.titles.get(worker, f"worker {worker}")
        if not self.by_worker:
            name = f"{_title(replica)} · {device or name}"
        self._process_names.setdefault(pid, name)

    def of_replica(self, worker: int, replica: int | None, tid: int, name: str) -> Track:
        """Return a track of a replica, adding the replica if necessary."""
        self.add_replica(worker, replica, None)
        if not self.by_worker:
            return self._named(Track(self._processes[worker, replica], tid), name)
        place = REPLICA_TIDS * (MAX_REPLICAS if replica is None else replica)
        track = Track(self._processes[worker, None], place + tid)
        return self._named(track, f"{_title(replica)}: {name}")

    def metadata(self) -> Iterator[TraceEvent]:
        """Yield the `M` events that name and sort every process and thread."""
        for pid, name in self._process_names.items():
            yield _metadata("process_name", pid, 0, {"name": name})
            yield _metadata("process_sort_index", pid, 0, {"sort_index": pid})
        for track, name in self._threads.items():
            yield _metadata("thread_name", track.pid, track.tid, {"name": name})
            yield _metadata("thread_sort_index", track.pid, track.tid, {"sort_index": track.tid})

    def _named(self, track: Track, name: str) -> Track:
        self._threads.setdefault(track, name)
        return track


def _title(replica: int | None) -> str:
    return f"replica {replica}" if replica is not None else "shared by the replicas"


def _metadata(name: str, pid: int, tid: int, args: dict[str, Any]) -> TraceEvent:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0, "args": args}
