"""all_gather, and its gradient.

Every replica gets the concatenation of all replicas' values; sizes may differ along the gathered
axis. The gradient goes back to the slice that each replica gave.
"""

import tensorflow as tf


def demonstrate(strategy):
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.fill([1, 2], context.replica_id_in_sync_group + 1.0)
    )

    @tf.function
    def program(values):
        def step(x):
            context = tf.distribute.get_replica_context()
            with tf.GradientTape() as tape:
                tape.watch(x)
                everything = context.all_gather(x, axis=0)
                loss = tf.reduce_sum(everything * everything)
            return everything, tape.gradient(loss, x)

        return strategy.run(step, args=(values,))

    gathered, gradient = program(values)
    print("replica 0 has", strategy.experimental_local_results(gathered)[0].numpy().tolist())
    for replica, own in enumerate(strategy.experimental_local_results(gradient)):
        print("replica", replica, "gradient", own.numpy().tolist())
