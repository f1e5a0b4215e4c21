"""The all-reduces of a step on N replicas: most likely, least, and longest time.

    gradients(N) = fixed + messages(N) * latency + moved(N) * time per byte
    small(N)     = fixed + messages(N) * latency

Runs on several numbers of replicas fix the parts. The rest of a step then grows by the latency of
the small one and by waits for late replicas: likely half of the growth is latency.

One number alone does not fix them: then a small all-reduce, such as that of the loss, shows
`fixed + latency`, and what the gradients take beyond it are bytes. How much of the small one is
latency stays open: for gRPC as much as `benchmarks.scaling` measured, for other transports anything
from nothing to all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from strategy_replay.engine.collective_cost import RING, cost
from strategy_replay.scaling.collective_time import (
    CollectiveTime,
    Observed,
    fit,
)
from strategy_replay.scaling.errors import PredictionError
from strategy_replay.scaling.link import Link
from strategy_replay.scaling.recorded_steps import RecordedSteps

GRPC_SHARES = (0.0, 0.1, 0.25)
"""Latency of a message over the time of a small all-reduce of two workers, with gRPC of TensorFlow
2.21: least, likely, most. 0.05 to 0.15 were measured; the ends leave a margin."""
OTHER_SHARES = (0.0, 0.25, 0.5)
"""Two messages take nothing, half, or all of it."""
_TCP_SHARE = 1.05
"""Bytes on an emulated link over bytes of gradients: headers of 1500-byte packets, and gRPC."""


@dataclass(frozen=True)
class AllReduce:
    """The model of one all-reduce of all gradients; times in ms."""

    algorithm: str
    likely: CollectiveTime
    least: CollectiveTime
    longest: CollectiveTime
    gradient_bytes: float
    num_recorded: int
    """Replicas of the run that the rest of a step comes from, with its small all-reduce."""
    is_changed: bool
    """Whether it is not as recorded: another link or another algorithm."""
    notes: tuple[str, ...] = ()

    def ms(self, num_replicas: int) -> float:
        """Return the most likely time of the gradients; 0 for one replica."""
        return self.likely.ms(num_replicas, self.gradient_bytes)

    def more_ms(self, num_replicas: int) -> float:
        """Return how much longer than recorded the small all-reduce of a step takes."""
        return _more_ms(self.likely, num_replicas, self.num_recorded)

    def beside_ms(self, num_replicas: int) -> tuple[float, float]:
        """Return how much shorter and longer both together may be than most likely."""
        sums = []
        for model in (self.least, self.likely, self.longest):
            more = _more_ms(model, num_replicas, self.num_recorded)
            sums.append(model.ms(num_replicas, self.gradient_bytes) + more)
        least, likely, longest = sums
        residual = self.likely.residual * self.ms(num_replicas)
        return max(likely - least, 0.0) + residual, max(longest - likely, 0.0) + residual


def _more_ms(model: CollectiveTime, num_replicas: int, num_recorded: int) -> float:
    if num_recorded < 2:
        return 0.0  # the small all-reduce was not recorded
    return model.ms(num_replicas, 0.0) - model.ms(num_recorded, 0.0)


def all_reduce_of(
    recorded: Sequence[RecordedSteps],
    base: RecordedSteps,
    link: Link | None,
    algorithm: str | None,
) -> AllReduce:
    """Return the model from runs, over another link or by another algorithm if one is named.

    `base` is the run that the rest of a step comes from.
    """
    several = sorted(
        (item for item in recorded if item.num_replicas > 1), key=lambda item: item.num_replicas
    )
    if link is not None:
        return _over(link, several, base, algorithm)
    if not several:
        raise PredictionError(
            "The runs have one replica, so no all-reduce was recorded",
            advice="Add a run of two replicas, or describe the link (--link)",
        )
    name = several[0].algorithm
    notes: tuple[str, ...] = ()
    if len({item.num_replicas for item in several}) > 1:
        models = [_of_groups(name, several, share) for share in (0.5, 0.0, 1.0)]
    else:
        models, notes = _of_one_group(several[0], _small_ms(recorded, several[0]))
    wanted = algorithm or name
    cost(wanted, 2, 1.0)
    likely, least, longest = (replace(model, algorithm=wanted) for model in models)
    is_changed = wanted != name
    return AllReduce(
        wanted, likely, least, longest, base.gradient_bytes, base.num_replicas, is_changed, notes
    )


def _of_groups(
    algorithm: str, several: Sequence[RecordedSteps], latency_share: float
) -> CollectiveTime:
    """Fit the model, with a share of the growth of the rest as latency."""
    messages = [cost(algorithm, item.num_replicas, 0.0)[0] for item in several]
    rests = [float(np.median(item.rest_ms)) for item in several]
    latency_ms = latency_share * max(float(np.polyfit(messages, rests, 1)[0]), 0.0)
    # Latency cannot take more than the whole all-reduce does.
    latency_ms = min(
        latency_ms, *(item.all_reduce_ms / num for item, num in zip(several, messages, strict=True))
    )
    fitted = fit(
        algorithm,
        [
            Observed(item.num_replicas, item.gradient_bytes, item.all_reduce_ms - num * latency_ms)
            for item, num in zip(several, messages, strict=True)
        ],
    )
    return replace(fitted, latency_ms=fitted.latency_ms + latency_ms)


def _small_ms(recorded: Sequence[RecordedSteps], base: RecordedSteps) -> float | None:
    """Return the time of a small all-reduce: what the rest of a step has beyond one replica's."""
    alone = [item for item in recorded if item.num_replicas == 1]
    if alone and alone[0].batch_per_replica == base.batch_per_replica:
        return max(float(np.median(base.rest_ms) - np.median(alone[0].rest_ms)), 0.0)
    return base.small_ms


def _of_one_group(
    base: RecordedSteps, small_ms: float | None
) -> tuple[list[CollectiveTime], tuple[str, ...]]:
    """Return the likely, the least and the longest model."""
    messages, moved = cost(base.algorithm, base.num_replicas, base.gradient_bytes)
    took = base.all_reduce_ms
    wire_ms = min(base.wire_ms_per_byte * _TCP_SHARE * moved, took)
    small = min(took - wire_ms, small_ms or 0.0)

    def model(latency_ms: float, bytes_ms: float) -> CollectiveTime:
        fixed = took - bytes_ms - messages * latency_ms
        return CollectiveTime(base.algorithm, fixed, latency_ms, bytes_ms / moved, 0.0, 1)

    # The rate of an emulated link is known; packing and adding overlap with it, but for the ends.
    bytes_ms = wire_ms or took - small
    if small_ms is None:
        everything = took - wire_ms
        longest = model(everything / messages, wire_ms)
        return [model(0.0, took), model(0.0, wire_ms), longest], (_OPEN,)
    is_grpc = base.segment.num_workers > 1 and base.algorithm == RING
    least, likely, most = (
        share * small * 2 / messages for share in (GRPC_SHARES if is_grpc else OTHER_SHARES)
    )
    return [model(likely, bytes_ms), model(least, bytes_ms), model(most, bytes_ms)], ()


_OPEN = (
    "How much of the all-reduce is latency is open, and the interval is wide. Add a run on one "
    "replica, or on another number of replicas"
)


def _over(
    link: Link, several: Sequence[RecordedSteps], base: RecordedSteps, algorithm: str | None
) -> AllReduce:
    """What the link allows; at the longest with all that the recorded all-reduce took besides."""
    name = algorithm or (several[0].algorithm if several else RING)
    cost(name, 2, 1.0)
    latency_ms = (link.latency_us or 0.0) / 1e3
    model = CollectiveTime(name, 0.0, latency_ms, 1e-6 / link.bandwidth_gbps, 0.0, 0)
    software_ms = 0.0
    for item in several:
        moved = cost(item.algorithm, item.num_replicas, item.gradient_bytes)[1]
        software_ms = max(software_ms, item.all_reduce_ms - moved * item.wire_ms_per_byte)
    notes = [f"{link.name}: what the link allows; the software that drives it takes longer"]
    if link.latency_us is None:
        notes.append("Its latency is not described and counts as 0")
    longest = replace(model, fixed_ms=software_ms)
    return AllReduce(
        name,
        model,
        model,
        longest,
        base.gradient_bytes,
        base.num_replicas,
        True,
        tuple(notes),
    )
