"""TPUStrategy from a RunSpec, on a real TPU or on emulated cores, and the placement of its cores.

The emulation is imported only when a TPU strategy is built: every run imports this module, and only
TPU runs may depend on the private TensorFlow that the emulation needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from strategy_core import tpu
from strategy_core.planning import strategy_catalog
from strategy_profiles.run.event_parts import CoreTraffic, Fallback
from strategy_profiles.run.events import CoresExpanded, StepCheckedForTpu
from strategy_profiles.spec.run_spec import RunSpec

if TYPE_CHECKING:
    from strategy_tpu.pod import ServedPod

Split = Callable[[Any], Any]
NAMES_KEPT = 20
"""Number of op names recorded per op type and reason of a fallback."""


def build(spec: RunSpec, devices: Sequence[str]) -> tf.distribute.TPUStrategy:
    """The strategy of `spec`: on a TPU, or on emulated cores, each on one of the `devices`.

    `devices` are those of all hosts. The hosts of an emulated pod are those in `TF_CONFIG`. Raises
    SpecError if the devices do not fit the spec.
    """
    return tpu.build(
        len(devices) // spec.tpu.cores_per_replica,
        spec.tpu.cores_per_replica,
        spmd=spec.tpu.spmd,
        topology_shape=spec.tpu.topology,
        pod=_pod(len(devices)) if spec.workers > 1 else None,
    )


def _pod(num_cores: int) -> ServedPod:
    from strategy_tpu.pod import ServedPod

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec()
    per_host = num_cores // cluster.num_tasks("host")
    return ServedPod(cluster, "host", per_host, own_job=resolver.task_type)


def core_devices(strategy: tf.distribute.TPUStrategy) -> list[list[str]]:
    """Device names by replica and logical core."""
    emulated = getattr(strategy.extended, "core_devices", None)
    if emulated is not None:
        return [[str(device) for device in replica] for replica in emulated]
    return [[device] for device in strategy.extended.worker_devices]


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
        from strategy_tpu.xla.telling import ENVIRONMENT

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


def splitter(strategy: tf.distribute.Strategy, spec: RunSpec) -> Split:
    """Splits a step's features over the replica's cores, if the spec asks for it."""
    axis, cores = spec.tpu.split_axis, spec.tpu.cores_per_replica
    has_cores = strategy_catalog.row(spec.strategy).has_cores
    if not has_cores or axis is None or cores == 1:
        return lambda features: features

    def split(tensor: tf.Tensor) -> tf.Tensor:
        partitions = [1] * tensor.shape.rank
        if axis < tensor.shape.rank:
            partitions[axis] = cores
        return strategy.experimental_split_to_logical_devices(tensor, partitions)

    return lambda features: tf.nest.map_structure(split, features)
