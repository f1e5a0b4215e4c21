"""batch_reduce_to: many reductions as one request.

The strategy may then pack them: fewer, larger messages. Optimizers give all gradients this way.
"""

import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope():
        first = tf.Variable(0.0, name="first")
        second = tf.Variable([0.0, 0.0], name="second")
    small = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(context.replica_id_in_sync_group + 1.0)
    )
    large = strategy.experimental_distribute_values_from_function(
        lambda context: tf.fill([2], context.replica_id_in_sync_group + 1.0)
    )
    with strategy.scope():
        results = strategy.extended.batch_reduce_to("SUM", [(small, first), (large, second)])
    for name, result in zip(("first", "second"), results, strict=True):
        print(name, "gets", strategy.experimental_local_results(result)[0].numpy().tolist())
