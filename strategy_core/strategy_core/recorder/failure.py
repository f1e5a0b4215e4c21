"""The event of an exception that ends a recorded program."""

from __future__ import annotations

import sys
import traceback

from strategy_core.cluster.lost_peer import is_about_lost_peer
from strategy_core.runtime.error_message import type_and_cause
from strategy_core.runtime.error_place import place_of_error
from strategy_core.runtime.live_objects import instances
from strategy_profiles.run.events import Failed
from strategy_profiles.run.tensorflow_names import SHAPES_DIFFER


def failed_by(error: BaseException) -> Failed:
    message = type_and_cause(error)
    return Failed(
        message,
        "".join(traceback.format_exception(error)),
        is_about_lost_peer(error),
        place_of_error(error),
        _num_strategies() if SHAPES_DIFFER in message else None,
    )


def _num_strategies() -> int | None:
    """How many strategies with several replicas the program has.

    TensorFlow keeps no list of them, so all objects are looked through (0.1 s).
    """
    if "tensorflow" not in sys.modules:
        return None
    import tensorflow as tf

    strategies = instances(tf.distribute.Strategy)
    return sum(each.num_replicas_in_sync > 1 for each in strategies)
