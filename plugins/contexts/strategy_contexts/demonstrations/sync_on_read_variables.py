"""SyncOnRead variables: written apart, combined when read.

With synchronization=ON_READ each replica writes its own component without any communication. A read
in cross-replica context combines them by the variable's aggregation.
"""

import tensorflow as tf


def demonstrate(strategy):
    aggregations = ("SUM", "MEAN", "ONLY_FIRST_REPLICA")
    variables = {}
    with strategy.scope():
        for name in aggregations:
            variables[name] = tf.Variable(
                0.0,
                name=name.lower(),
                trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation[name],
            )

    def step():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        for variable in variables.values():
            variable.assign_add(tf.cast(replica, tf.float32) + 1.0)

    strategy.run(step)
    for name, variable in variables.items():
        parts = [float(part) for part in strategy.experimental_local_results(variable)]
        with strategy.scope():
            print(name, "holds", parts, "and reads as", float(variable.read_value()))
