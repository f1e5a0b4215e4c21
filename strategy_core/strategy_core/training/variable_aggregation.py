"""Aggregation rules that keep a model's non-trainable variables consistent over the replicas.

Keras 3 creates them without an aggregation rule. Under MirroredStrategy every replica then updates
its own copy and only the first one is read, silently; under CentralStorageStrategy the update is an
error. The lab sets the rule that suits each variable:

- statistics in floating point (BatchNormalization) are kept per replica and averaged when read
  (SyncOnRead), as TensorFlow's own guide describes it;
- counters (the state of random seeds) advance equally on every replica. With a single central copy,
  the first replica's update counts.

Parameter servers hold one copy of everything, which every worker updates, and need no rule.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import tensorflow as tf

from strategy_core.planning.strategy_catalog import StrategyRow


def variable_rules(row: StrategyRow) -> AbstractContextManager[None]:
    """A scope that gives each variable without an aggregation rule the one that suits it.

    A model is built in it, inside the scope of the strategy that `row` describes.
    """
    if row.has_servers:
        return nullcontext()

    def create(next_creator: Callable[..., Any], **options: Any) -> Any:
        unruled = options.get("aggregation") in (None, tf.VariableAggregation.NONE)
        if unruled and not options.get("trainable"):
            options.update(_rule(options.get("dtype"), row.has_central_copy))
        return next_creator(**options)

    return tf.variable_creator_scope(create)


def _rule(dtype: Any, has_central_copy: bool) -> dict[str, Any]:
    """The synchronization and aggregation for a non-trainable variable."""
    if tf.as_dtype(dtype).is_floating:
        return {
            "synchronization": tf.VariableSynchronization.ON_READ,
            "aggregation": tf.VariableAggregation.MEAN,
        }
    if has_central_copy:
        return {"aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA}
    return {}
