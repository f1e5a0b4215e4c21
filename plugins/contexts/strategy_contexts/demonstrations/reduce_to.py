"""reduce_to: reduce, and put the result where it is needed.

The destination decides the layout: a mirrored variable (a copy on each of its devices), a tensor
(its device), or a device name.
"""

import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope():
        variable = tf.Variable(0.0, name="variable")
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(context.replica_id_in_sync_group + 1.0)
    )
    with tf.device("CPU:0"):
        tensor = tf.constant(0.0)

    with strategy.scope():
        for name, destination in (("variable", variable), ("tensor", tensor), ("device", "CPU:0")):
            result = strategy.extended.reduce_to("SUM", values, destination)
            copies = strategy.experimental_local_results(result)
            print("to a", name, "gives", len(copies), "x", float(copies[0]))
