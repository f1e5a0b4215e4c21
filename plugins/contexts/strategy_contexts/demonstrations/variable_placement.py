"""Where a variable sits: colocate_vars_with, and what the strategy did.

colocate_vars_with asks for a variable on the devices of another, as an optimizer does for its
slots.
"""

import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope():
        weight = tf.Variable(1.0, name="weight")
        with strategy.extended.colocate_vars_with(weight):
            slot = tf.Variable(0.0, name="slot")

    def devices(variable):
        parts = strategy.experimental_local_results(variable)
        return [part.device.split("/")[-1] for part in parts]

    print("weight on", devices(weight))
    print("slot on", devices(slot))
    print("slot was made in scope:", strategy.extended.variable_created_in_scope(slot))
    print(
        "the strategy computes on",
        [name.split("/")[-1] for name in strategy.extended.worker_devices],
    )
