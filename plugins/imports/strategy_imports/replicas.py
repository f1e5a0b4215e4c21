"""Which replica each event belongs to.

`MirroredStrategy` puts `replica_N/` into the names of all replicas' ops but the first one's. Where
devices are as many as replicas, or no name has a number, each busy device is a replica. A profile
can have some of a program's replicas only: here they are numbered from 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_imports.recording import Ints
from strategy_imports.spans import COLLECTIVE, OTHER, TRANSFER, Spans
from strategy_profiles.run.op_scopes import replica_in, without_replica
from strategy_profiles.spec.limits import MOST_REPLICAS
from strategy_profiles.tables.columns import distinct

_UPDATE = re.compile(r"(?:^|/)update_(\d{1,4})(?:_\d+)?/")
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
    named: tuple[int, ...] = ()
    """Their numbers in the names of their ops; empty if these are 0, 1, 2 and so on, or unknown."""


def find_replicas(spans: Spans, names: Sequence[str], num_devices: int) -> Replicas:
    """Return the replicas of a host's events; `names` are the texts of `spans.name`."""
    number = _by_name(names)[spans.name]
    is_on_device = spans.device >= 0
    if not is_on_device.any():  # the host's CPU ran all of them: only names tell replicas apart
        number = np.where(spans.category != OTHER, number, -1)
        return _of_names(spans, np.where(number >= 0, number, _of_merged(spans, names, number)))
    is_op = is_on_device & (spans.category != TRANSFER)
    busy, _ = distinct(spans.device[is_op if is_op.any() else is_on_device])
    if len(distinct(number[is_op & (number >= 0)])[0]) > len(busy):  # several share a device
        return _of_names(spans, np.where(is_on_device, number, -1))
    replica_of = np.full(num_devices + 1, -1)  # the last is the host
    replica_of[busy] = np.arange(len(busy))
    of_device: Ints = replica_of[spans.device]
    named = _only_numbers(of_device[is_op], number[is_op], len(busy))
    return Replicas(tuple(busy.tolist()), of_device, "the devices that ran an op", named)


def _of_names(spans: Spans, number: Ints) -> Replicas:
    """Return a replica per number; one whose events are on several devices has the usual one."""
    numbers, replica = distinct(number[number >= 0])
    of_event = np.full(len(spans), -1, np.int64)
    of_event[number >= 0] = replica
    devices = []
    for own in range(len(numbers)):
        places = spans.device[of_event == own]
        devices.append(int(np.bincount(places).argmax()) if (places >= 0).all() else -1)
    source = "the names of the ops (replica_N/)" if devices else ""
    return Replicas(tuple(devices), of_event, source, _unusual(numbers.tolist()))


def _of_merged(spans: Spans, names: Sequence[str], number: Ints) -> Ints:
    """Return the replica of ops that replicas run together, under one name with a number behind it.

    `CollectiveReduceV2` and `CollectiveReduceV2_1` are the first collective's ops of two replicas,
    `_2` and `_3` those of the second one; `update_1/` is the update of the second replica.
    """
    numbers = distinct(number[number >= 0])[0].tolist()
    replica_of = np.full(len(names) + 1, -1, np.int64)
    if len(numbers) < 2:
        return replica_of[spans.name]
    families: dict[str, list[tuple[int, int]]] = {}
    at = np.flatnonzero((spans.category == COLLECTIVE) & (number < 0))
    for index in distinct(spans.name[at])[0].tolist():
        family, _, last = names[index].rpartition("_")
        is_first = not (last.isascii() and last.isdigit() and len(last) < 9)
        key = (names[index], 0) if is_first else (family, int(last))
        families.setdefault(key[0], []).append((key[1], index))
    for members in families.values():
        if len(members) % len(numbers) == 0:
            for rank, (_, index) in enumerate(sorted(members)):
                replica_of[index] = numbers[rank % len(numbers)]
    for index, name in enumerate(names):
        updated = _UPDATE.search(name)
        if updated and int(updated[1]) in numbers:
            replica_of[index] = int(updated[1])
    return np.where(spans.category != OTHER, replica_of[spans.name], -1)


def _only_numbers(replica: Ints, number: Ints, num_replicas: int) -> tuple[int, ...]:
    """Return the one number that the ops of each replica have; nothing if one has none or two."""
    known = number >= 0
    pairs, _ = distinct(replica[known] * _MOST_NAMED + number[known])
    if not np.array_equal(pairs // _MOST_NAMED, np.arange(num_replicas)):
        return ()
    return _unusual((pairs % _MOST_NAMED).tolist())


def _unusual(numbers: list[int]) -> tuple[int, ...]:
    return () if numbers == list(range(len(numbers))) else tuple(numbers)


def _by_name(names: Sequence[str]) -> Ints:
    """Return the replica of each name; the first replica's are those that others repeat."""
    numbers = np.full(len(names) + 1, -1, np.int64)
    bare = set()
    for index, name in enumerate(names):
        replica = replica_in(name)
        if replica is not None and replica < min(_MOST_NAMED, MOST_REPLICAS):
            numbers[index] = replica
            bare.add(without_replica(name))
    for index, name in enumerate(names):
        if numbers[index] < 0 and name in bare:
            numbers[index] = 0
    return numbers
