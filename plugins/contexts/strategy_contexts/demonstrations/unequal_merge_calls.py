"""Replicas that do not make the same calls.

Replica 0 all-reduces and the others do not: the sum would never be complete. TensorFlow notices at
the end of the step.
"""

import tensorflow as tf


def demonstrate(strategy):
    def step():
        context = tf.distribute.get_replica_context()
        # Wrong: a condition that depends on the replica decides about a call that needs them all.
        if int(context.replica_id_in_sync_group) == 0:
            context.merge_call(lambda _: None)

    strategy.run(step)
