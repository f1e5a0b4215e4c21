"""Edits of collectives by their latency and bytes: a faster link, and other packs of gradients.

    t(S) = latency + S * time per byte

If the recorded collectives have two sizes, what the large one takes longer are its bytes; the
interval of a prediction covers the times of the small one from step to step. Gradients in one pack
have one size: then half of the time counts as latency, and the interval covers all of it and none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from strategy_profiles.reporting import units
from strategy_profiles.step_graph.graph import SMALL_BYTES, StepGraph
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.tables.columns import Bools, Floats
from strategy_replay.engine.edits import Edit, Times, of_category
from strategy_replay.engine.replays import Replays

_FACTOR = 8.0
"""Sizes closer than this do not tell latency from bytes."""
_RANGE = (0.1, 0.9)
"""Quantiles of the smallest collectives' times: least and most latency."""
_OPEN = (0.5, 0.0, 1.0)
"""Latency over time of a collective of the only size: likely, least, most."""


@dataclass(frozen=True, slots=True)
class MessageCost:
    """Latency of a collective, and time per byte."""

    latency_ns: float
    ns_per_byte: float

    def ns(self, num_bytes: Floats) -> Floats:
        return self.latency_ns + num_bytes * self.ns_per_byte


@dataclass(frozen=True, slots=True)
class FasterLink:
    """The bytes of collectives take 1/times as long; their latency stays."""

    times: float
    cost: MessageCost
    extremes: tuple[Edit, ...] = ()

    @property
    def title(self) -> str:
        return f"over a link {self.times:g} times as fast"

    def apply(self, graph: StepGraph, times: Times) -> None:
        chosen = _collectives(graph)
        num_bytes = graph.nodes.bytes[chosen]
        quicker = MessageCost(self.cost.latency_ns, self.cost.ns_per_byte / self.times)
        times.work_ns[chosen] *= quicker.ns(num_bytes) / self.cost.ns(num_bytes)


@dataclass(frozen=True, slots=True)
class OtherPacks:
    """Gradients cross in packs of another size.

    Each pack takes the latency again. Whether packs wait for each other is not known: in the most
    likely case they do, in the shortest they do not. That a pack may leave while the backward pass
    goes on is not counted.
    """

    bytes_per_pack: int
    """0: one pack."""
    cost: MessageCost
    do_wait: bool = True
    """Whether packs wait for each other."""
    extremes: tuple[Edit, ...] = ()

    @property
    def title(self) -> str:
        if not self.bytes_per_pack:
            return "with gradients in one pack"
        return f"with gradients in packs of {units.size(self.bytes_per_pack)}"

    def apply(self, graph: StepGraph, times: Times) -> None:
        chosen = gradient_exits(graph)
        for replica in np.unique(graph.nodes.replica[chosen]):
            own = chosen & (graph.nodes.replica == replica)
            moved = float(graph.nodes.bytes[own].sum())
            num = math.ceil(moved / self.bytes_per_pack) if self.bytes_per_pack else 1
            latencies = num if self.do_wait else 1
            packed = latencies * self.cost.latency_ns + moved * self.cost.ns_per_byte
            times.work_ns[own] *= packed / self.cost.ns(graph.nodes.bytes[own]).sum()


def faster_link(known: Replays, times: float) -> FasterLink:
    """Return the edit; raises ReplayError if no collective was recorded."""
    if not times > 0:
        raise ReplayError(
            f"A link cannot be {times:g} times as fast", advice="Give a number above 0, such as 2"
        )
    likely, *others = gradient_costs(known)
    return FasterLink(times, likely, tuple(FasterLink(times, cost) for cost in others))


def other_packs(known: Replays, bytes_per_pack: int) -> OtherPacks:
    """Return the edit; raises ReplayError if the recording does not allow it."""
    if known.recording.segment.cross_device_ops != "collective-ring":
        raise ReplayError(
            f"Packs of {known.recording.segment.cross_device_ops} cannot be predicted: only the "
            "gradients of collective-ring are packed by size",
            advice="Measure it with --try, such as --try num_packs=2",
        )
    if bytes_per_pack < 0:
        raise ReplayError("A pack cannot have less than 0 bytes", advice="Give 0 for one pack")
    likely, least, most = gradient_costs(known)
    extremes = (OtherPacks(bytes_per_pack, least, False), OtherPacks(bytes_per_pack, most))
    return OtherPacks(bytes_per_pack, likely, extremes=extremes)


def gradient_exits(graph: StepGraph) -> Bools:
    """Return which nodes are exits of collectives of gradients."""
    return _collectives(graph) & (graph.nodes.bytes > SMALL_BYTES)


def _collectives(graph: StepGraph) -> Bools:
    """Return which nodes are exits of collectives of a known size."""
    return of_category(graph, ("collective",)) & np.isfinite(graph.nodes.bytes)


def gradient_costs(known: Replays) -> tuple[MessageCost, MessageCost, MessageCost]:
    """Return the likely cost, that with the least latency, and that with the most."""
    sizes, lengths = [], []
    for step in known.steps:
        chosen = _collectives(step.graph)
        sizes.append(step.graph.nodes.bytes[chosen])
        lengths.append(step.graph.length_ns[chosen])
    size, length = np.concatenate(sizes), np.concatenate(lengths)
    if not (size > SMALL_BYTES).any():
        raise ReplayError(
            "No collective of gradients was recorded, so what its latency and its bytes take is "
            "not known",
            advice="Measure the change with --try, or record a run of several replicas with "
            "collective-ring",
        )
    low, high = float(size.min()), float(size.max())
    long_ns = float(np.median(length[size == high]))
    if high < _FACTOR * low:
        latencies = [share * long_ns for share in _OPEN]
    else:
        short = length[size == low]
        short_ns = [float(np.median(short)), *np.quantile(short, _RANGE).tolist()]
        latencies = [each - max(long_ns - each, 0.0) / (high - low) * low for each in short_ns]

    def cost(latency_ns: float) -> MessageCost:
        latency_ns = min(max(latency_ns, 0.0), long_ns)
        return MessageCost(latency_ns, (long_ns - latency_ns) / high)

    likely, least, most = (cost(each) for each in latencies)
    return likely, least, most
