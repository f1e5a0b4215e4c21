"""A builder per strategy of the catalog: RunSpec and device names in, a Strategy out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from profiles.errors import SpecError
from profiles.spec import RunSpec
from strategy_core import private_tf, tpu_strategy
from strategy_core.algorithms import Algorithm

Builder = Callable[[RunSpec, Sequence[str], Algorithm], tf.distribute.Strategy]


def build(spec: RunSpec, devices: Sequence[str], algorithm: Algorithm) -> tf.distribute.Strategy:
    """The strategy of `spec` on `devices` (one name per replica); raises SpecError."""
    builder = BUILDERS.get(spec.strategy)
    if builder is None:
        raise SpecError(
            "The strategy is one that the lab can run",
            spec.strategy,
            f"Those are {', '.join(BUILDERS)}",
            field="strategy",
        )
    return builder(spec, devices, algorithm)


def _default(_spec: RunSpec, _devices: Sequence[str], _algorithm: Algorithm) -> Any:
    return tf.distribute.get_strategy()


def _one_device(_spec: RunSpec, devices: Sequence[str], _algorithm: Algorithm) -> Any:
    return tf.distribute.OneDeviceStrategy(devices[0])


def reduce_by(strategy: tf.distribute.Strategy, spec: RunSpec, algorithm: Algorithm) -> None:
    """Have a MirroredStrategy reduce as `spec` asks, in steps that are traced from now on.

    Nothing is done to others: they have no choice once they are there.
    """
    if spec.strategy == "mirrored":
        ops = _cross_device_ops(spec, algorithm)
        private_tf.reduce_by(strategy, ops, _communication(spec, algorithm))


def _mirrored(spec: RunSpec, devices: Sequence[str], algorithm: Algorithm) -> Any:
    ops = _cross_device_ops(spec, algorithm)
    return private_tf.mirrored_strategy(devices, ops, _communication(spec, algorithm))


def _communication(spec: RunSpec, algorithm: Algorithm) -> Any:
    """CommunicationOptions of a MirroredStrategy's collectives; None where it uses none."""
    if algorithm.name == "collective-ring":
        return tf.distribute.experimental.CommunicationOptions(
            bytes_per_pack=spec.bytes_per_pack,
            implementation=tf.distribute.experimental.CommunicationImplementation.RING,
        )
    if algorithm.is_tensorflows_choice:
        return tf.distribute.experimental.CommunicationOptions(bytes_per_pack=spec.bytes_per_pack)
    return None


def _multi_worker_mirrored(spec: RunSpec, _devices: Sequence[str], algorithm: Algorithm) -> Any:
    """Over the processes that `TF_CONFIG` names; waits for all of them."""
    communication = tf.distribute.experimental.CommunicationImplementation
    implementation = {"collective-ring": communication.RING, "nccl": communication.NCCL}
    options = tf.distribute.experimental.CommunicationOptions(
        bytes_per_pack=spec.bytes_per_pack,
        timeout_seconds=spec.cluster.collective_timeout_s,
        implementation=communication.AUTO
        if algorithm.is_tensorflows_choice
        else implementation[algorithm.name],
    )
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


def _parameter_server(_spec: RunSpec, _devices: Sequence[str], _algorithm: Algorithm) -> Any:
    """Over the servers that `TF_CONFIG` names; waits for all of them. Variables go to the
    parameter servers in turn, an optimizer's to where its weight is."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return tf.distribute.ParameterServerStrategy(resolver)


def _cross_device_ops(spec: RunSpec, algorithm: Algorithm) -> Any:
    """The object that reduces; None for collectives, which MirroredStrategy makes itself."""
    if algorithm.is_tensorflows_choice:
        return None
    if algorithm.name == "nccl":
        return tf.distribute.NcclAllReduce(num_packs=spec.num_packs)
    if algorithm.name == "hierarchical-copy":
        return tf.distribute.HierarchicalCopyAllReduce(num_packs=spec.num_packs)
    if algorithm.name == "reduction-to-one-device":
        return tf.distribute.ReductionToOneDevice()
    return None


def _central_storage(_spec: RunSpec, devices: Sequence[str], _algorithm: Algorithm) -> Any:
    return tf.distribute.experimental.CentralStorageStrategy(list(devices), "CPU:0")


def _tpu(spec: RunSpec, devices: Sequence[str], _algorithm: Algorithm) -> Any:
    return tpu_strategy.build(spec, devices)


BUILDERS: dict[str, Builder] = {
    "default": _default,
    "one-device": _one_device,
    "mirrored": _mirrored,
    "central-storage": _central_storage,
    "multi-worker-mirrored": _multi_worker_mirrored,
    "parameter-server": _parameter_server,
    "tpu": _tpu,
}
