"""Which replica each event belongs to.

`MirroredStrategy` puts `replica_N/` into the names of all replicas' ops but the first one's. Where
devices are as many as replicas, or no name has a number, each busy device is a replica.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_lab.profiles.imports.recording import Ints
from strategy_lab.profiles.imports.spans import OTHER, Spans
from strategy_lab.profiles.run.replica_scope import replica_in, without_replica
from strategy_lab.profiles.spec.limits import MOST_REPLICAS

_MOST_NAMED = 1024
"""Replicas that names of one host may tell: more are a program's own use of such names."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """The replicas of one host and the events' replica, numbered from 0 within the host."""

    devices: tuple[int, ...]
    """By replica: the number of its device, -1 for the host's CPU."""
    of_event: Ints
    source: str
    """How they were found, for a sentence."""


def find_replicas(spans: Spans, names: Sequence[str], num_devices: int) -> Replicas:
    """Return the replicas of a host's events; `names` are the texts of `spans.name`."""
    by_name = _by_name(names)
    num_events = np.bincount(spans.device + 1, minlength=1)[1:]
    busy = np.flatnonzero(num_events)
    if not len(busy):
        of_event = np.full(len(spans), -1, np.int64)
        named = by_name[spans.name]
        is_op = (spans.category != OTHER) & (named >= 0)
        of_event[is_op] = named[is_op]
        count = int(of_event.max(initial=-1)) + 1
        if count == 0:
            return Replicas((), of_event, "")
        return Replicas((-1,) * count, of_event, "the names of the ops (replica_N/)")
    at = np.flatnonzero(spans.device >= 0)
    named = by_name[spans.name[at]]
    count = int(named.max(initial=-1)) + 1
    if count <= len(busy):
        place = np.full(num_devices + 1, -1)  # the last is the host
        place[busy] = np.arange(len(busy))
        of_device: Ints = place[spans.device]
        return Replicas(tuple(busy.tolist()), of_device, "the devices that ran anything")
    of_event = np.full(len(spans), -1, np.int64)
    of_event[at] = named
    devices = []
    for replica in range(count):
        own = spans.device[of_event == replica]
        devices.append(int(np.bincount(own).argmax()) if len(own) else int(busy[0]))
    return Replicas(tuple(devices), of_event, "the names of the ops (replica_N/)")


def _by_name(names: Sequence[str]) -> Ints:
    """Return the replica of each name; the first replica's are those that others repeat."""
    found = np.full(len(names) + 1, -1, np.int64)
    bare = set()
    for index, name in enumerate(names):
        replica = replica_in(name)
        if replica is not None and replica < min(_MOST_NAMED, MOST_REPLICAS):
            found[index] = replica
            bare.add(without_replica(name))
    for index, name in enumerate(names):
        if found[index] < 0 and name in bare:
            found[index] = 0
    return found
