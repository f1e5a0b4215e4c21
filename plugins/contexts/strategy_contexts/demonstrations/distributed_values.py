"""A value per replica, from a function.

The function is called once per replica with a ValueContext, which knows the replica's number and
how many there are.
"""

import tensorflow as tf


def demonstrate(strategy):
    def value_fn(context):
        return tf.constant(
            [context.replica_id_in_sync_group, context.num_replicas_in_sync], tf.int32
        )

    values = strategy.experimental_distribute_values_from_function(value_fn)
    for replica, value in enumerate(strategy.experimental_local_results(values)):
        print("replica", replica, "has", value.numpy().tolist())
