"""A copy of the model on every device; gradients are all-reduced in each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_core.private_tf import engine as private_tf
from strategy_profiles.spec.run_spec import RunSpec

TITLE = "MirroredStrategy"
NEEDS = "one or more devices of one kind"
LINK = "https://www.tensorflow.org/api_docs/python/tf/distribute/MirroredStrategy"
PLACE = 3


def build(spec: RunSpec, devices: Sequence[str], algorithm: Algorithm) -> Any:
    ops = _cross_device_ops(spec, algorithm)
    return private_tf.mirrored_strategy(devices, ops, _communication(spec, algorithm))


def reduce_by(strategy: tf.distribute.Strategy, spec: RunSpec, algorithm: Algorithm) -> None:
    """Reduce as `spec` asks, in steps that are traced from now on."""
    ops = _cross_device_ops(spec, algorithm)
    private_tf.reduce_by(strategy, ops, _communication(spec, algorithm))


def _communication(spec: RunSpec, algorithm: Algorithm) -> Any:
    """CommunicationOptions of the collectives; None where it uses none."""
    if algorithm.name == "collective-ring":
        return tf.distribute.experimental.CommunicationOptions(
            bytes_per_pack=spec.bytes_per_pack,
            implementation=tf.distribute.experimental.CommunicationImplementation.RING,
        )
    if algorithm.is_tensorflows_choice:
        return tf.distribute.experimental.CommunicationOptions(bytes_per_pack=spec.bytes_per_pack)
    return None


def _cross_device_ops(spec: RunSpec, algorithm: Algorithm) -> Any:
    """The object that reduces; None for collectives, which the strategy makes itself."""
    if algorithm.is_tensorflows_choice:
        return None
    if algorithm.name == "nccl":
        return tf.distribute.NcclAllReduce(num_packs=spec.num_packs)
    if algorithm.name == "hierarchical-copy":
        return tf.distribute.HierarchicalCopyAllReduce(num_packs=spec.num_packs)
    if algorithm.name == "reduction-to-one-device":
        return tf.distribute.ReductionToOneDevice()
    return None
