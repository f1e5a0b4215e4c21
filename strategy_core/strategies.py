"""A builder per strategy of the catalog: RunSpec and device names in, a Strategy out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from profiles.errors import SpecError
from profiles.spec import RunSpec
from strategy_core import private_tf

Builder = Callable[[RunSpec, Sequence[str]], tf.distribute.Strategy]


def build(spec: RunSpec, devices: Sequence[str]) -> tf.distribute.Strategy:
    """The strategy of `spec` on `devices` (one name per replica); raises SpecError."""
    builder = BUILDERS.get(spec.strategy)
    if builder is None:
        raise SpecError("The strategy is one that the lab can run", spec.strategy, field="strategy")
    return builder(spec, devices)


def _default(_spec: RunSpec, _devices: Sequence[str]) -> tf.distribute.Strategy:
    return tf.distribute.get_strategy()


def _one_device(_spec: RunSpec, devices: Sequence[str]) -> tf.distribute.Strategy:
    return tf.distribute.OneDeviceStrategy(devices[0])


def _mirrored(_spec: RunSpec, devices: Sequence[str]) -> tf.distribute.Strategy:
    return private_tf.mirrored_strategy(devices)


def _central_storage(_spec: RunSpec, devices: Sequence[str]) -> tf.distribute.Strategy:
    return tf.distribute.experimental.CentralStorageStrategy(list(devices), "CPU:0")


BUILDERS: dict[str, Builder] = {
    "default": _default,
    "one-device": _one_device,
    "mirrored": _mirrored,
    "central-storage": _central_storage,
}
