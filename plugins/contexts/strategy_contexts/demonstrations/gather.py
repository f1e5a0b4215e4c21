"""gather: every replica's value in one tensor.

The values are put one after the other along the axis asked for, on the device of the program.
"""

import tensorflow as tf


def demonstrate(strategy):
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.fill([1, 2], context.replica_id_in_sync_group)
    )
    for axis in (0, 1):
        gathered = strategy.gather(values, axis=axis)
        print("axis", axis, "gives", gathered.numpy().tolist())
