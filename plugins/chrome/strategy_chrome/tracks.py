"""Tracks: a process per replica (per worker if there are several), a thread per lane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.run.topology import worker_of
from strategy_profiles.tables.store import Profile

TraceEvent = dict[str, Any]
RUN_PID = 1
"""The process for data of the whole run: steps, segments, counters."""


class Owner(NamedTuple):
    """Whose events a track has; the replica is None for what a worker does for all of its own."""

    worker: int
    replica: int | None


class Track(NamedTuple):
    """The process and thread of an event."""

    pid: int
    tid: int


class Tracks:
    """Assigns process and thread ids to replicas and lanes, and remembers their names."""

    def __init__(self, profile: Profile) -> None:
        self._titles = profile.process_titles
        self._is_by_worker = len(profile.clocks.workers) > 1
        self._pids: dict[Owner, int] = {}
        self._process_names = {RUN_PID: "Run"}
        self._threads: dict[tuple[int, ...], tuple[Track, str]] = {}
        """By process and place in it."""
        self._owners: dict[tuple[int, str], Owner] = {}
        short = short_names(name for each in profile.segments for name in each.replica_devices)
        for segment in profile.segments:
            cores = segment.core_devices or ()
            for replica, device in enumerate(segment.replica_devices):
                owner = Owner(worker_of(segment, replica), replica)
                self._pid(owner, short[device])
                for name in (device, *(cores[replica] if replica < len(cores) else ())):
                    self._owners[segment.segment, name] = owner

    def owner(self, segment: int, device: str, worker: int) -> Owner:
        """Return the replica that a device had in a segment, or else none of the worker's."""
        return self._owners.get((segment, device), Owner(worker, None))

    def of_run(self, name: str, order: int) -> Track:
        """Return a track of the whole run."""
        return self._track(RUN_PID, name, (order,))

    def of_replica(self, owner: Owner, name: str, *order: int) -> Track:
        """Return a track of a replica; `order` says which of its tracks are above others."""
        pid = self._pid(owner, None)
        if not self._is_by_worker:
            return self._track(pid, name, order)
        is_shared = owner.replica is None
        order = (int(is_shared), owner.replica or 0, *order)
        return self._track(pid, f"{_title(owner.replica)}: {name}", order)

    def metadata(self) -> Iterator[TraceEvent]:
        """Yield the `M` events that name and sort every process and thread."""
        for pid, name in self._process_names.items():
            yield _metadata("process_name", Track(pid, 0), {"name": name})
            yield _metadata("process_sort_index", Track(pid, 0), {"sort_index": pid})
        for index, (_, (track, name)) in enumerate(sorted(self._threads.items())):
            yield _metadata("thread_name", track, {"name": name})
            yield _metadata("thread_sort_index", track, {"sort_index": index})

    def _pid(self, owner: Owner, device: str | None) -> int:
        """Return the process of a replica, which is titled by its device on its first use."""
        if self._is_by_worker:
            owner = Owner(owner.worker, None)
        pid = self._pids.setdefault(owner, RUN_PID + 1 + len(self._pids))
        name = self._titles.get(owner.worker, f"worker {owner.worker}")
        if not self._is_by_worker:
            name = f"{_title(owner.replica)} · {device or name}"
        self._process_names.setdefault(pid, name)
        return pid

    def _track(self, pid: int, name: str, order: tuple[int, ...]) -> Track:
        new = Track(pid, len(self._threads))
        return self._threads.setdefault((pid, *order), (new, name))[0]


def _title(replica: int | None) -> str:
    return f"replica {replica}" if replica is not None else "shared by the replicas"


def _metadata(name: str, track: Track, args: dict[str, Any]) -> TraceEvent:
    return {"ph": "M", "name": name, "pid": track.pid, "tid": track.tid, "ts": 0, "args": args}
