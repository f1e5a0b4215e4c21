"""reduce: axis=None, axis=0, and a last batch that is not full.

axis=None combines one value per replica. axis=0 also combines the examples inside each replica, and
with MEAN weighs every example the same, even where the last batch gave the replicas unequal shares.
"""

import tensorflow as tf


def demonstrate(strategy):
    replicas = strategy.num_replicas_in_sync
    # Two examples on every replica but the last, which has one.
    losses = strategy.experimental_distribute_values_from_function(
        lambda context: (
            tf.ones([1 if context.replica_id_in_sync_group == replicas - 1 else 2])
            * (context.replica_id_in_sync_group + 1.0)
        )
    )
    per_replica = strategy.run(tf.reduce_mean, args=(losses,))

    mean_of_means = strategy.reduce(tf.distribute.ReduceOp.MEAN, per_replica, axis=None)
    mean_of_examples = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=0)
    total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=0)
    print("mean of the replicas' means:", round(float(mean_of_means), 4))
    print("mean of the examples:", round(float(mean_of_examples), 4))
    print("sum of the examples:", float(total))
