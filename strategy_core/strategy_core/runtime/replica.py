"""The number of the replica whose part of a program is being traced."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def replica_number(context: Any) -> int | None:
    """The number of a `tf.distribute.ReplicaContext`; None if one trace serves all replicas, as on
    TPU cores, where the number is known only when the step runs."""
    static = tf.get_static_value(context.replica_id_in_sync_group)
    return None if static is None else int(static)
