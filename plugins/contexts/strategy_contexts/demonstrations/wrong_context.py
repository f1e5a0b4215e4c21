"""The most common error: a cross-replica call made by one replica.

strategy.reduce combines the values of all replicas, so it cannot be called by one of them.
"""

import tensorflow as tf


def demonstrate(strategy):
    def step():
        own = tf.distribute.get_replica_context().replica_id_in_sync_group
        # Wrong: this replica alone cannot reduce over all replicas.
        return strategy.reduce("SUM", own, axis=None)

    strategy.run(step)
