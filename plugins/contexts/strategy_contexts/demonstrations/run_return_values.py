"""run(): how the replicas' results are merged.

The results of all replicas become one structure. Different tensors become a PerReplica; the same
Python object from every replica stays that object; copies of one mirrored variable become it again.
"""

import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope():
        variable = tf.Variable(7.0, name="variable")
    shared = tf.constant(5.0)

    def step():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        return {"own": tf.cast(replica, tf.float32), "shared": shared, "variable": variable}

    results = strategy.run(step)
    print("own:", [float(x) for x in strategy.experimental_local_results(results["own"])])
    print("shared is the same object:", results["shared"] is shared)
    print("variable is the same object:", results["variable"] is variable)
