"""run(): what each replica receives.

A plain tensor reaches every replica unchanged; a PerReplica value gives each its own component;
a mirrored variable gives each the copy on its own device.
"""

import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope():
        mirrored = tf.Variable(100.0, name="mirrored")
    per_replica = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(10.0 * (context.replica_id_in_sync_group + 1))
    )

    def step(constant, own, variable):
        return constant + own + variable

    total = strategy.run(step, args=(tf.constant(1.0), per_replica, mirrored))
    for replica, value in enumerate(strategy.experimental_local_results(total)):
        print("replica", replica, "computed", value.numpy())
