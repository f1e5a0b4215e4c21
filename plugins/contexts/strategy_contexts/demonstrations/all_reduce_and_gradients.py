"""all_reduce, and its gradient.

Every replica gives a value and gets the sum (or mean) of all. The gradient of an all-reduce is an
all-reduce: what one replica does with the sum concerns every replica's input.
"""

import tensorflow as tf


def demonstrate(strategy):
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(context.replica_id_in_sync_group + 1.0)
    )

    @tf.function
    def program(values):
        def step(x):
            context = tf.distribute.get_replica_context()
            with tf.GradientTape() as tape:
                tape.watch(x)
                total = context.all_reduce(tf.distribute.ReduceOp.SUM, x)
                loss = total * total
            mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, x)
            return total, mean, tape.gradient(loss, x)

        return strategy.run(step, args=(values,))

    total, mean, gradient = program(values)
    for replica in range(strategy.num_replicas_in_sync):
        print(
            "replica",
            replica,
            "sum",
            float(strategy.experimental_local_results(total)[replica]),
            "mean",
            float(strategy.experimental_local_results(mean)[replica]),
            "gradient",
            float(strategy.experimental_local_results(gradient)[replica]),
        )
