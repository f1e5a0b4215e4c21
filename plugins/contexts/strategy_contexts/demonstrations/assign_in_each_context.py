"""assign: who may write which variable, and what happens.

In replica context a mirrored variable needs an aggregation, since its copies stay equal; a
SyncOnRead variable takes each replica's own value. In cross-replica context all copies get one.
"""

import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope():
        summed = tf.Variable(0.0, name="summed", aggregation=tf.VariableAggregation.SUM)
        mean = tf.Variable(0.0, name="mean", aggregation=tf.VariableAggregation.MEAN)
        first = tf.Variable(
            0.0, name="first", aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA
        )
        local = tf.Variable(
            0.0,
            name="local",
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    def step():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        own = tf.cast(replica, tf.float32) + 1.0
        for variable in (summed, mean, first, local):
            variable.assign(own)

    strategy.run(step)
    for variable in (summed, mean, first, local):
        parts = [float(part) for part in strategy.experimental_local_results(variable)]
        print(variable.name.split(":")[0], "after replicas assigned:", parts)

    with strategy.scope():
        summed.assign(8.0)
        local.assign(8.0)
    for variable in (summed, local):
        parts = [float(part) for part in strategy.experimental_local_results(variable)]
        print(variable.name.split(":")[0], "after cross-replica assign:", parts)
