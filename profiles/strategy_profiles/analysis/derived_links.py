"""What the links between processes have to carry per step, from what a step is known to move.

Collectives: each as a ring over all replicas, in which only the last replica of a process has its
neighbour in another one, so that a process sends the next f * S (nccl-tests' factor f). Parameter
servers: a worker pulls every variable part and pushes its gradient back, in the steps it does. TPU
pods: the sends of the graph from a device of one process to one of another, in captured steps.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from strategy_profiles.analysis.communication import communication
from strategy_profiles.capture.bandwidth import bus_factor
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.topology import has_servers, host_process, is_pod
from strategy_profiles.tables.columns import floats, ints, of_segment, texts
from strategy_profiles.tables.store import Profile

FROM_COLLECTIVES = "collectives"
FROM_PARAMETERS = "parameters"
FROM_SERVED = "served variables"
FROM_SENDS = "sends between hosts"

Pair = tuple[int, int]
"""Process numbers: from, to."""
Derived = tuple[dict[Pair, float], str | None]
"""Bytes per step by link, and what they are derived from; None if nothing is known."""


def derived_bytes(profile: Profile, segment: SegmentOpened) -> Derived:
    """Bytes per step that the links of a segment have to carry."""
    if has_servers(segment):
        return _between_servers(profile, segment)
    if is_pod(segment):
        return _between_hosts(profile, segment)
    if segment.num_workers < 2:
        return {}, None
    total, source = _ring_share(profile, segment)
    workers = range(segment.num_workers)
    neighbours = ((worker, (worker + 1) % segment.num_workers) for worker in workers)
    return dict.fromkeys(neighbours, total) if source else {}, source


def _ring_share(profile: Profile, segment: SegmentOpened) -> tuple[float, str | None]:
    """What each replica sends the next: of the captured collectives, else of all gradients."""
    uses = communication(profile, segment).collectives
    shares = [
        factor * use.bytes
        for use in uses
        if use.group_size == segment.num_replicas
        and use.bytes is not None
        and (factor := bus_factor(use.op, segment.num_replicas)) is not None
    ]
    if shares:
        return sum(shares), FROM_COLLECTIVES
    if uses or not segment.parameter_bytes:
        return 0.0, None
    factor = bus_factor("all-reduce", segment.num_replicas) or 0.0
    return factor * segment.parameter_bytes, FROM_PARAMETERS


def _between_hosts(profile: Profile, segment: SegmentOpened) -> Derived:
    sends = of_segment(profile.table("transfers"), segment.segment)
    sizes, num_steps = floats(sends, "bytes"), len(np.unique(ints(sends, "step")))
    if not num_steps or not np.isfinite(sizes).all():
        return {}, None
    num_bytes: dict[Pair, float] = defaultdict(float)
    ends = zip(texts(sends, "send_device"), texts(sends, "recv_device"), sizes, strict=True)
    for sender, receiver, size in ends:
        pair = (host_process(sender) or 0, host_process(receiver) or 0)
        if pair[0] != pair[1]:
            num_bytes[pair] += float(size) / num_steps
    return dict(num_bytes), FROM_SENDS


def _between_servers(profile: Profile, segment: SegmentOpened) -> Derived:
    served = of_segment(profile.table("served"), segment.segment)
    workers = ints(of_segment(profile.table("closures"), segment.segment), "worker")
    pulled, pushed = floats(served, "pull_bytes"), floats(served, "push_bytes")
    if not len(pulled) or not len(workers) or not np.isfinite([*pulled, *pushed]).all():
        return {}, None
    num_bytes: dict[Pair, float] = defaultdict(float)
    for worker, count in zip(*np.unique(workers, return_counts=True), strict=True):
        share = float(count) / len(workers)
        for server, pull, push in zip(ints(served, "process"), pulled, pushed, strict=True):
            num_bytes[int(server), int(worker)] += share * float(pull)
            num_bytes[int(worker), int(server)] += share * float(push)
    return dict(num_bytes), FROM_SERVED
