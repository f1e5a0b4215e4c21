"""How a model's non-trainable variables stay one model's over the replicas.

Keras 3 creates them without an aggregation rule. Under MirroredStrategy every replica then
updates its own copy and the first one is silently read for all; under CentralStorageStrategy the
update is an error. The lab gives them the rule that their meaning asks for:

- statistics in floating point (BatchNormalization) are kept per replica and averaged when read
  (SyncOnRead), as TensorFlow's own guide describes it;
- counters (the state of random seeds) advance alike on every replica. Where there is one central
  copy, the first replica's update counts.

Parameter servers hold one copy of each variable, which every worker updates: no rule is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import tensorflow as tf


def variable_rules(strategy: tf.distribute.Strategy) -> AbstractContextManager[None]:
    """A scope to build a model in, inside `strategy.scope()`."""
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        return nullcontext()
    central = isinstance(strategy, tf.distribute.experimental.CentralStorageStrategy)

    def create(next_creator: Callable[..., Any], **options: Any) -> Any:
        unruled = options.get("aggregation") in (None, tf.VariableAggregation.NONE)
        if unruled and not options.get("trainable"):
            options.update(_rule(options.get("dtype"), central))
        return next_creator(**options)

    return tf.variable_creator_scope(create)


def _rule(dtype: Any, central: bool) -> dict[str, Any]:
    """The synchronization and aggregation that suit a non-trainable variable."""
    if tf.as_dtype(dtype).is_floating:
        return {
            "synchronization": tf.VariableSynchronization.ON_READ,
            "aggregation": tf.VariableAggregation.MEAN,
        }
    if central:
        return {"aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA}
    return {}
