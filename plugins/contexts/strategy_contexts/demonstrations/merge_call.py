"""merge_call: all replicas hand over to one function.

Every replica stops at merge_call. The function runs once, in cross-replica context, with the
replicas' arguments as PerReplica values; its result goes back to each replica.
"""

import tensorflow as tf


def demonstrate(strategy):
    def merge(strategy, value):
        # Here the value holds one component per replica.
        return strategy.reduce(tf.distribute.ReduceOp.SUM, value, axis=None)

    def step():
        context = tf.distribute.get_replica_context()
        own = tf.cast(context.replica_id_in_sync_group, tf.float32) + 1.0
        total = context.merge_call(merge, args=(own,))
        return own / total

    shares = strategy.run(step)
    for replica, share in enumerate(strategy.experimental_local_results(shares)):
        print("replica", replica, "has a share of", round(float(share), 4))
