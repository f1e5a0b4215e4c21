"""The slices on the tracks of each replica: captured steps, ops, sends and receives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from strategy_profiles.exports.trace.slices import (
    Row,
    Slice,
    grouped,
    in_sequence,
    side_by_side,
)
from strategy_profiles.exports.trace.tracks import Track, Tracks
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.run.topology import worker_of
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.one_clock import table_on_one_clock

Owner = tuple[int, int | None]
"""Worker and replica; the replica is None for work that a worker does for all its replicas."""

Bundle = tuple[Owner, int, str]
"""A group of lanes: its worker and replica, its first thread id, and its name."""

LANES_OF_A_CORE = 100
STEPS_TID, OPS_TID, SENDS_TID, RECEIVES_TID = 0, 100, 10_000, 20_000
"""First thread ids of a replica's captured steps, ops, sends and receives; one id per lane."""

_PHASES = ("wall_ms", *(f"{phase}_ms" for phase in CATEGORIES), "source")
_OP_ARGS = ("step", "op", "device", "clock", "thread")
_TRANSFER_ARGS = (
    "step",
    "tensor",
    "bytes",
    "send_device",
    "recv_device",
    "duration_ms",
    "source",
    "bytes_source",
)


UNPLACED = Track(0, 0)
"""The track of a slice that is not assigned to a lane yet."""


class ReplicaSlices:
    """The slices of a profile's replicas; times in ns after `origin_ns`."""

    def __init__(self, profile: Profile, tracks: Tracks, origin_ns: int) -> None:
        self._profile = profile
        self._tracks = tracks
        self._origin_ns = origin_ns
        self._replicas: dict[tuple[int, str], Owner] = {}
        self._cores: dict[tuple[int, str], int] = {}
        """Core numbers by segment and device, for replicas with several cores."""
        devices = [device for segment in profile.segments for device in segment.replica_devices]
        shown = short_names(devices)
        for segment in profile.segments:
            for replica, device in enumerate(segment.replica_devices):
                worker = worker_of(segment, replica)
                self._replicas[segment.segment, device] = (worker, replica)
                tracks.add_replica(worker, replica, shown[device])
            for replica, devices_of in enumerate(segment.core_devices or ()):
                for core, device in enumerate(devices_of if len(devices_of) > 1 else ()):
                    self._replicas[segment.segment, device] = (worker_of(segment, replica), replica)
                    self._cores[segment.segment, device] = core

    def steps(self) -> Iterator[Slice]:
        """Yield each replica's captured steps, with their phases."""
        rows = table_on_one_clock(self._profile, "replica_steps").to_pylist()
        for owner, group in grouped(rows, "worker", "replica").items():
            track = self._tracks.of_replica(owner[0], owner[1], STEPS_TID, "captured steps")
            slices = [self._slice(f"step {r['step']}", "step", r, r["wall_ms"]) for r in group]
            yield from in_sequence(
                replace(item, track=track, args=_chosen(row, _PHASES))
                for item, row in zip(slices, group, strict=True)
            )

    def ops(self, spans: Sequence[Row]) -> list[Slice]:
        """Return one slice per row of the spans table, in the same order."""
        slices = [
            self._slice(
                row["name"] or row["op"] or "?",
                row["category"] or "other",
                row,
                (row["duration_ns"] or 0) / 1e6,
                _OP_ARGS,
            )
            for row in spans
        ]
        bundles = [self._ops_of(row) for row in spans]
        return self._arranged(slices, bundles)

    def _ops_of(self, row: Row) -> Bundle:
        """Return the lanes of a span's op: each core has its own lanes."""
        core = self._cores.get((row["segment"], row["device"]))
        owner = (row["worker"], row["replica"])
        if core is None:
            return owner, OPS_TID, "ops"
        return owner, OPS_TID + core * LANES_OF_A_CORE, f"core {core} ops"

    def collectives(self, spans: Sequence[Row], ops: Sequence[Slice]) -> Iterator[list[Slice]]:
        """Yield the slices of each collective's ranks, for collectives with several ranks."""
        found: dict[tuple[object, ...], Slice] = {}
        for row, item in zip(spans, ops, strict=True):
            if row["category"] == "collective":
                found[_rank(row)] = item
        rows = table_on_one_clock(self._profile, "collectives").to_pylist()
        for group in grouped(rows, "step", "op", "instance").values():
            at = (found.get(_rank(row)) for row in group)
            ranks = [item for item in at if item is not None]
            if len(ranks) > 1:
                yield ranks

    def transfers(self) -> Iterator[tuple[str, Slice, Slice]]:
        """Yield name, send and receive of every transfer whose duration is known."""
        rows = table_on_one_clock(self._profile, "transfers").to_pylist()
        rows = [row for row in rows if row["start_ns"] is not None]
        names = [row["tensor"] or "transfer" for row in rows]
        slices = [
            self._slice(name, "transfer", row, row["duration_ms"] or 0, _TRANSFER_ARGS)
            for name, row in zip(names, rows, strict=True)
        ]
        senders, receivers = (self._owners(rows, f"{end}_device") for end in ("send", "recv"))
        sends = self._arranged(slices, [(owner, SENDS_TID, "sends") for owner in senders])
        receives = self._arranged(
            slices, [(owner, RECEIVES_TID, "receives") for owner in receivers]
        )
        yield from zip(names, sends, receives, strict=True)

    def _slice(
        self, name: str, category: str, row: Row, length_ms: float, args: Sequence[str] = ()
    ) -> Slice:
        start_ns = row["start_ns"] - self._origin_ns
        end_ns = start_ns + round((length_ms or 0) * 1e6)
        return Slice(UNPLACED, name, category, start_ns, end_ns, _chosen(row, args))

    def _owners(self, rows: Sequence[Row], device: str) -> list[Owner]:
        """Return the worker and replica of each row's device; no replica if it belongs to none."""
        return [
            self._replicas.get((row["segment"], row[device]), (row["worker"], None)) for row in rows
        ]

    def _arranged(self, slices: Sequence[Slice], bundles: Sequence[Bundle]) -> list[Slice]:
        """Return the slices in the same order, each on a lane of its bundle."""
        members: dict[Bundle, list[int]] = defaultdict(list)
        for index, bundle in enumerate(bundles):
            members[bundle].append(index)
        placed = list(slices)
        for bundle, indices in members.items():
            lane = partial(self._lane, *bundle)
            moved = side_by_side([slices[index] for index in indices], lane)
            for index, item in zip(indices, moved, strict=True):
                placed[index] = item
        return placed

    def _lane(self, owner: Owner, tid: int, name: str, lane: int) -> Track:
        label = f"{name} {lane + 1}" if lane else name
        return self._tracks.of_replica(*owner, tid + lane, label)


def _chosen(row: Row, names: Sequence[str]) -> Row:
    return {name: row[name] for name in names}


def _rank(row: Row) -> tuple[object, ...]:
    """Return the key of a rank of a collective, common to the tables `spans` and `collectives`."""
    return tuple(row[name] for name in ("step", "worker", "replica", "name", "start_ns"))
