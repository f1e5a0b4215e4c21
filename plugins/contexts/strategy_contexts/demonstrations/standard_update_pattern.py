"""The standard pattern for updating a variable, in four steps.

1 each replica computes its gradient, 2 merge_call brings them together, 3 reduce_to sums them onto
the variable's devices, 4 update changes every copy where it is.
"""

import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope():
        weight = tf.Variable(10.0, name="weight")

    def merge(strategy, gradient):
        # 3: the sum, with a copy beside each copy of the variable.
        total = strategy.extended.reduce_to("SUM", gradient, weight)
        # 4: each copy is changed on its own device.
        strategy.extended.update(
            weight, lambda copy, change: copy.assign_sub(0.5 * change), args=(total,)
        )

    def step(x):
        # 1: the gradient of this replica's examples.
        with tf.GradientTape() as tape:
            loss = weight * x
        gradient = tape.gradient(loss, weight)
        # 2: all replicas hand over.
        tf.distribute.get_replica_context().merge_call(merge, args=(gradient,))

    examples = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(context.replica_id_in_sync_group + 1.0)
    )
    strategy.run(step, args=(examples,))
    for replica, copy in enumerate(strategy.experimental_local_results(weight)):
        print("copy", replica, "is", copy.numpy())
