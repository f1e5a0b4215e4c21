"""The default strategy.

A program that chose no strategy still has one: the default strategy, with one replica. Library code
can therefore call get_replica_context() and all_reduce everywhere, and one replica's sum is itself.
"""

import tensorflow as tf


def demonstrate(strategy):
    # Outside any scope: the default strategy, in its (default) replica context.
    print("has a strategy:", tf.distribute.has_strategy())
    print("in cross-replica context:", tf.distribute.in_cross_replica_context())

    context = tf.distribute.get_replica_context()
    print("replicas:", context.num_replicas_in_sync)
    print("all_reduce of 5:", context.all_reduce("SUM", tf.constant(5.0)).numpy())

    # The chosen strategy counts its own replicas.
    with strategy.scope():
        print("in scope, has a strategy:", tf.distribute.has_strategy())
        print("in scope, cross-replica:", tf.distribute.in_cross_replica_context())
    print("chosen strategy's replicas:", strategy.num_replicas_in_sync)
