"""What is recorded of a traced step: its spread over the cores, and what a TPU would refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from strategy_profiles.run.event_parts import CoreTraffic, Fallback
from strategy_profiles.run.events import CoresExpanded, Event, StepCheckedForTpu
from strategy_tpu.xla.telling import ENVIRONMENT

NAMES_KEPT = 20
"""Number of op names recorded per op type and reason of a fallback."""


def step_events(strategy: tf.distribute.Strategy, segment: int) -> Iterator[Event]:
    """The events about the traced step of a segment; none on a real TPU."""
    for event in (expansion(strategy, segment), checked(strategy, segment)):
        if event is not None:
            yield event


def expansion(strategy: tf.distribute.Strategy, segment: int) -> CoresExpanded | None:
    """How the step was spread over the cores; None before its first call, and on a real TPU."""
    report = getattr(strategy.extended, "last_expansion", None)
    if report is None:
        return None
    assignment = strategy.extended.device_assignment
    return CoresExpanded(
        segment=segment,
        topology=[int(size) for size in assignment.topology.mesh_shape],
        coordinates=np.asarray(assignment.core_assignment).tolist(),
        spmd=strategy.extended.is_spmd,
        num_ops={device: sum(ops.values()) for device, ops in report.ops_by_device.items()},
        partitioned=dict(report.partitioned),
        fallbacks=_fallbacks(report),
        collectives=_collectives(report),
        moved_bytes=report.moved_bytes(),
    )


def checked(strategy: tf.distribute.Strategy, segment: int) -> StepCheckedForTpu | None:
    """What a TPU's compiler would report about the step.

    None before its first call, on a real TPU, and for other strategies.
    """
    checker = getattr(strategy.extended, "xla", None)
    if checker is None:
        return None
    if not checker.is_on:
        return StepCheckedForTpu(
            segment=segment,
            findings=[],
            unchecked=[],
            num_ops=0,
            lookup_ms=None,
            lowering_ms=None,
            reason=f"the check is switched off ({ENVIRONMENT}=0)",
        )
    if checker.last is None:
        return None
    return StepCheckedForTpu(
        segment=segment,
        findings=list(checker.last.findings),
        unchecked=list(checker.last.unchecked),
        num_ops=checker.last.num_ops,
        lookup_ms=checker.last.lookup_ms,
        lowering_ms=checker.last.lowering_ms,
    )


def _fallbacks(report: Any) -> list[Fallback]:
    names: dict[tuple[str, str], list[str]] = {}
    for each in report.fallbacks:
        names.setdefault((each.op, each.reason), []).append(each.name)
    return [
        Fallback(op, reason, list(dict.fromkeys(names[op, reason]))[:NAMES_KEPT], count, size)
        for op, reason, count, size in report.fallback_table()
    ]


def _collectives(report: Any) -> list[CoreTraffic]:
    """Communications with the same kind and size combined into one row."""
    count: Counter[tuple[str, int, int | None, int | None]] = Counter(
        (each.op, each.group_size, each.bytes, each.moved_bytes) for each in report.collectives
    )
    return [
        CoreTraffic(op, group, times, size, moved)
        for (op, group, size, moved), times in count.items()
    ]
